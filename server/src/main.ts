// Starts the server (settings, keys, database, listeners, jobs), and stops it without losing a
// request.

import { once } from 'node:events';
import { accessSync, constants, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Server as TlsServer } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { makeFolderDurably, replaceDurably } from '../../kit/src/durable.ts';
import { listenFault } from '../../kit/src/listening.ts';
import { openLog } from '../../kit/src/log.ts';
import { ownedByLog } from '../../kit/src/owner.ts';
import type { Environment, ListenAddress } from '../../kit/src/settings.ts';
import { showAccounts } from './accounts/accounts.ts';
import { markTokensUsed } from './api_tokens/api_tokens.ts';
import { createApp, type Parts } from './app.ts';
import { canVerify, markEntriesUsed, verifyEntries } from './authlist/authlist.ts';
import { showBackups } from './backups/metrics.ts';
import { BackupSchedule, startBackups } from './backups/schedule.ts';
import { fullDiskFault } from './bounds/full_disk.ts';
import { WriteBudget } from './bounds/write_budget.ts';
import { openVersions } from './changes/versions.ts';
import { type Clock, systemClock } from './clock.ts';
import { adminUrlFile, type Config, isLoopback, readConfig } from './config.ts';
import type { Context } from './context.ts';
import type { Actor, Database } from './db/database.ts';
import { migrate } from './db/migrate.ts';
import { openDatabase } from './db/open.ts';
import { Connections } from './http/connections.ts';
import { tryListeners, urlOf } from './http/listeners.ts';
import { Install } from './install/install.ts';
import { startJobs } from './jobs.ts';
import { loadSecrets } from './keys/keys_file.ts';
import { forgetHolder, reportHeldKeys } from './keys/signing_keys.ts';
import { ensureNetwork, livesWithKeys } from './network.ts';
import { AppliedWatch, showNodes } from './nodes/nodes.ts';
import { Callers } from './observed/callers.ts';
import { LastUsed } from './observed/last_used.ts';
import { Metrics, metricsServer } from './observed/metrics.ts';
import { ensureOperatorToken, markOperatorTokensUsed } from './operators/operators.ts';
import { markSessionsSeen } from './sign_in/sign_in.ts';
import { ServedCertificate } from './tls/certificate.ts';
import { Geoip } from './values/geoip.ts';

export interface Running {
  ctx: Context;
  base_url: string;
  admin_url: string;
  node_url: string;
  metrics_url: string | undefined;
  /**
   * Takes no new connections, finishes the requests in flight, stores what is in memory, closes.
   */
  stop(): Promise<void>;
}

/** Replacements that tests use for the real parts. */
export interface TestDoubles {
  clock?: Clock;
  log?: Logger;
  /** False: no job runs by itself. */
  jobs?: boolean;
  /** Stands between the server and its database. */
  database?: (db: Database) => Database;
}

const starting: Actor = { kind: 'system', name: 'start', address: '', request_id: '' };

/** Makes the data folder and checks that it can be written. Errors: one sentence. */
function prepareDataDir(path: string): void {
  try {
    makeFolderDurably(path);
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Error(
      `The data folder ${path} cannot be written (${(error as NodeJS.ErrnoException).code}); set EXITWARD_DATA_DIR.`,
      { cause: error },
    );
  }
}

/** Opens the database and migrates it to this schema. Close it after use. */
export async function openStorage(
  config: Config,
  { clock = systemClock, database = (db) => db }: TestDoubles = {},
  metrics?: Metrics,
): Promise<Database> {
  const db = await openDatabase(config.database_url, {
    clock,
    onGroup: (actions, seconds) => {
      metrics?.groups.observe(seconds);
      metrics?.groupActions.inc(actions);
    },
  });
  try {
    await migrate(db);
    return database(db);
  } catch (error) {
    await db.close().catch(() => {});
    throw error;
  }
}

/** Everything that requests need, on an open database. */
export async function createContext(
  config: Config,
  db: Database,
  doubles: TestDoubles,
  metrics: Metrics,
  stopping: AbortSignal,
): Promise<Context> {
  const clock = doubles.clock ?? systemClock;
  const log = doubles.log ?? openLog(config);
  const applied = new AppliedWatch(db, () => clock.steady(), stopping);
  const secrets = loadSecrets(config.keys_file, await livesWithKeys(db), config.mounted_secrets);
  const { backups } = config;
  return {
    config,
    clock,
    db,
    secrets,
    versions: openVersions(db),
    metrics,
    geoip: await Geoip.open(config.geoip, log),
    install: new Install(config),
    certificate: () => null,
    signer: () => undefined,
    log,
    lastUsed: new LastUsed({
      api_tokens: markTokensUsed,
      operator_tokens: markOperatorTokensUsed,
      sessions: markSessionsSeen,
      authlist_entries: markEntriesUsed,
    }),
    callers: new Callers({ canVerify, verifyEntries }),
    writes: new WriteBudget(config),
    backups: backups && new BackupSchedule(backups, config, secrets.key_id, clock, log),
    whenApplied: (...wait) => applied.wait(...wait),
  };
}

/**
 * Runs the server until it is stopped. Errors: an Error whose message is one clear sentence (or a
 * line for each fault of the settings) when it cannot start.
 */
export async function serve(env: Environment, doubles: TestDoubles = {}): Promise<Running> {
  const config = readConfig(env);
  try {
    return await start(config, doubles);
  } catch (error) {
    const { data_dir, database_url, keys_file, admin_token_file } = config;
    const files = [database_url.replace(/^sqlite:/, ''), keys_file, admin_token_file];
    throw fullDiskFault(error, [data_dir, ...files.map((file) => dirname(file))]) ?? error;
  }
}

async function start(config: Config, doubles: TestDoubles): Promise<Running> {
  prepareDataDir(config.data_dir);
  await tryListeners(config);
  const metrics = new Metrics();
  const db = await openStorage(config, doubles, metrics);
  const closers: Array<() => Promise<void>> = [() => db.close()];
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const stopping = new AbortController();
    const ctx = await createContext(config, db, doubles, metrics, stopping.signal);
    for (const sentence of config.unknown_settings) ctx.log.warn(sentence);
    const openPackages = ctx.install.fault();
    if (openPackages) ctx.log.error(`New machines get no package. ${openPackages.message}`);
    await ensureNetwork(ctx);
    const { admin_token_file, mounted_secrets } = config;
    await ensureOperatorToken(db, ctx.secrets, admin_token_file, starting, mounted_secrets);
    if (doubles.jobs !== false) {
      await db.write(starting, (tx) => reportHeldKeys(tx, ctx.secrets));
      closers.push(() => db.write(starting, forgetHolder).catch(() => {}));
      closers.push(await startJobs(ctx));
      if (ctx.backups) closers.push(startBackups(ctx.backups));
    }
    if (ctx.backups) showBackups(metrics.registry, ctx.backups);
    const urls = await listenAll(ctx, closers);
    noteAdminUrl(config, urls.admin_url);
    closers.push(async () => stopping.abort());
    ctx.log.info({ ...urls }, 'Exitward is listening');
    return { ctx, ...urls, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Writes the operators' URL for the command line, which would otherwise send the token to whatever
 * listens on the usual port. With TLS at all addresses only a name works: EXITWARD_ADMIN_URL.
 */
function noteAdminUrl({ data_dir }: Config, admin_url: string): void {
  const file = adminUrlFile(data_dir);
  const url = admin_url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
  if (url === admin_url || url.startsWith('http:')) replaceDurably(file, `${url}\n`);
  else rmSync(file, { force: true });
}

async function listenAll(ctx: Context, closers: Array<() => Promise<void>>) {
  const { listen, admin_listen, node_listen, metrics_listen } = ctx.config;
  const parts = new Map<string, Parts & { at: ListenAddress }>();
  const add = (at: ListenAddress, part: Partial<Parts>) => {
    // Port 0 asks for any free port, so such listeners are never the same.
    const key =
      at.port === 0 && at !== listen ? `${at.host}:0 ${parts.size}` : `${at.host}:${at.port}`;
    parts.set(key, {
      customers: false,
      operators: false,
      nodes: false,
      at,
      ...parts.get(key),
      ...part,
    });
    return key;
  };
  const keys = {
    customers: add(listen, { customers: true }),
    operators: add(admin_listen, { operators: true }),
    nodes: add(node_listen, { nodes: true }),
  };
  const urls = new Map<string, string>();
  const apps: FastifyInstance[] = [];
  const { config } = ctx;
  const connections = Connections.within(config, ctx.log);
  // All at once: none takes new work while another finishes its own.
  closers.push(async () => {
    await Promise.all(apps.map((app) => closeApp(app, connections, ctx.log, config.stop_seconds)));
    connections.close();
  });
  const certificate = ServedCertificate.open(config, ctx.clock, ctx.log);
  if (certificate) closers.push(() => certificate.stop());
  const withTls: TlsServer[] = [];
  for (const [key, { at, ...served }] of parts) {
    const tls = isOperatorsAlone(at, served) ? undefined : certificate?.options;
    const app = await createApp(ctx, served, { tls, connections });
    apps.push(app);
    if (tls) withTls.push(app.server as unknown as TlsServer);
    await app.listen({ host: at.host, port: at.port });
    urls.set(key, urlOf(app.server, tls !== undefined));
    // From here on, an error only concerns a connection that could not be accepted.
    const note = (error: Error) => ctx.log.error({ err: error }, 'a connection was not taken');
    app.server.on('error', note);
  }
  // A port that the system chose is known only now.
  const base_url = urls.get(keys.customers) as string;
  if (ctx.config.public_url.endsWith(':0')) ctx.config.public_url = base_url;
  if (ctx.config.node_url.endsWith(':0')) ctx.config.node_url = urls.get(keys.nodes) as string;
  if (certificate) {
    ctx.certificate = () => certificate.status();
    ctx.signer = () => certificate.issued;
    ctx.metrics.watchCertificate(() => certificate.status());
    certificate.showOn(withTls);
  }
  const metrics_url = metrics_listen && (await serveMetrics(ctx, metrics_listen, closers));
  return {
    base_url,
    admin_url: urls.get(keys.operators) as string,
    node_url: urls.get(keys.nodes) as string,
    metrics_url,
  };
}

/** Returns their URL. A server without them goes on, and logs why. */
async function serveMetrics(
  ctx: Context,
  at: ListenAddress,
  closers: Array<() => Promise<void>>,
): Promise<string | undefined> {
  const { clock, config, db, metrics } = ctx;
  // A part that cannot be read stays as it was.
  const refresh = () =>
    Promise.allSettled([
      metrics.showDisk(config.data_dir),
      showNodes(db, metrics),
      showAccounts(db, metrics, config.metrics_accounts, clock.now()),
    ]);
  const server = metricsServer(metrics, refresh);
  try {
    server.listen(at.port, at.host);
    await once(server, 'listening');
  } catch (error) {
    const setting = 'EXITWARD_METRICS_LISTEN';
    ctx.log.warn(listenFault({ at, purpose: 'metrics', setting, isOptional: true }, error));
    return undefined;
  }
  // From here on, an error only concerns a connection that could not be accepted.
  server.on('error', () => {});
  closers.push(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  return `${urlOf(server, false)}/metrics`;
}

/**
 * The command line, and a browser behind ssh, connect over loopback, where no other machine listens
 * and no certificate's name matches: docs/decisions/0051-certificates.md.
 */
function isOperatorsAlone({ host }: ListenAddress, { customers, nodes }: Parts): boolean {
  return isLoopback(host) && !customers && !nodes;
}

const lookForIdleMs = 50;

/** Lets requests in flight finish; after the grace time their connections are cut. */
async function closeApp(
  app: FastifyInstance,
  connections: Connections,
  log: Context['log'],
  stop_seconds: number,
): Promise<void> {
  // Includes connections on which TLS has not begun, which the server does not count as its own.
  const own = ownedByLog(log);
  const cut = setTimeout(
    own(() => connections.cut(app.server)),
    stop_seconds * 1000,
  );
  // A connection is kept alive after its response, and one without a request counts as busy:
  // nothing else would end them before the time is over.
  const idle = setInterval(
    own(() => {
      app.server.closeIdleConnections();
      // Data that has arrived is read first.
      setImmediate(own(() => connections.cutUnused(app.server)));
    }),
    lookForIdleMs,
  );
  await app.close();
  clearTimeout(cut);
  clearInterval(idle);
}
