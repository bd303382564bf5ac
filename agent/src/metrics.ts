// Metrics: the agent's counts about its node, in Prometheus' format, on a listener of its own.
import { once } from 'node:events';
import { statfs } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import { addressText, listenFault } from '../../kit/src/listening.ts';
import { metricsListener } from '../../kit/src/metrics_listener.ts';
import type { Position } from '../../kit/src/node_interface.ts';
import type { ListenAddress } from '../../kit/src/settings.ts';
import type { EngineCounts } from './engine.ts';
import type { Status } from './local.ts';
import { authorities, bucketSeconds, type DecisionCounts } from './policy/decision_tally.ts';
import { allReasons } from './policy/denials.ts';
import type { Listener } from './policy/policy.ts';

/** The state of the agent, as the metrics show it. */
export interface Facts {
  status: Status;
  /** The newest position received. */
  held: Position | undefined;
  behind_seconds: number | undefined;
  /** Epoch seconds of the oldest usage that the control plane has not accepted. */
  oldest_usage_at: number | undefined;
  /** Bytes counted since this agent started. */
  transferred: { readonly up: number; readonly down: number } | undefined;
  /** Undefined while the engine starts. */
  counts: EngineCounts | undefined;
  listeners: ReadonlyMap<number, Listener> | undefined;
}

/**
 * Clients cannot choose the value of a label, so there are only as many series as exits, Squids,
 * reasons and kinds of faults.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #read: () => Facts;
  readonly #now: () => number;
  readonly #dir: string;
  readonly #clears: Array<() => void> = [];
  #decisions: DecisionCounts | undefined;

  readonly #build = this.#gauge('build_info', 'Always 1.', 'version', 'node_version', 'engine');
  readonly #allowed = this.#counter('allowed_total', 'Requests that were let in, by authority.', [
    'by',
  ]);
  readonly #refusals = this.#counter('refusals_total', 'Requests that were denied, by reason.', [
    'reason',
  ]);
  readonly #connections = this.#gauge(
    'connections',
    'Client connections that are open.',
    'service',
    'exit_ip',
  );
  readonly #traffic = this.#counter(
    'traffic_bytes_total',
    'Billed bytes, up from clients and down to them.',
    ['direction'],
  );
  readonly #exitUp = this.#gauge(
    'exit_up',
    'Whether the last checks of an exit were good enough; no sample while that is unknown.',
    'exit_ip',
  );
  readonly #exitChecked = this.#gauge(
    'exit_checked_timestamp_seconds',
    'When an exit was last checked, in epoch seconds.',
    'exit_ip',
  );
  readonly #following = this.#gauge('following', 'Whether changes come as they are made.');
  readonly #heard = this.#gauge(
    'heard_timestamp_seconds',
    'When this agent last heard from the control plane, in epoch seconds.',
  );
  readonly #revision = this.#gauge(
    'revision',
    'The revision of the policy that was received, that is on disk, and that is in force.',
    'at',
  );
  readonly #lag = this.#gauge(
    'lag_revisions',
    'Revisions from the policy in force to the newest that was received.',
  );
  readonly #drained = this.#gauge('drained', 'Whether the node accepts no new connections.');
  readonly #behind = this.#gauge(
    'lag_seconds',
    'How long the policy in force has been older than the newest, in seconds.',
  );
  readonly #entries = this.#gauge('policy_entries', 'Records of the policy.', 'kind');
  readonly #rows = this.#gauge(
    'usage_waiting_rows',
    'Rows of usage that the control plane has not accepted.',
  );
  readonly #oldest = this.#gauge('usage_waiting_seconds', 'Age of the oldest of these rows.');
  readonly #faults = this.#gauge(
    'faults',
    'Current faults by kind; no sample if there are none.',
    'kind',
  );
  readonly #since = this.#gauge(
    'faults_since_seconds',
    'When the oldest fault of a kind began, in epoch seconds.',
    'kind',
  );
  readonly #squidUp = this.#gauge('squid_up', 'Whether a Squid runs that should.', 'squid');
  readonly #squidStarts = this.#counter(
    'squid_starts_total',
    'Starts of a Squid by this agent; one that was taken over has none.',
    ['squid'],
  );
  readonly #deciders = this.#gauge('deciders', 'Deciders that are connected, one for each Squid.');
  readonly #tunnels = this.#gauge('vpn_tunnels', 'Tunnels of the VPN.');
  readonly #vpnUp = this.#gauge(
    'vpn_up',
    'Whether a VPN service answers at an exit, with a certificate that is valid.',
    'service',
    'exit_ip',
  );
  readonly #vpnChecked = this.#gauge(
    'vpn_checked_timestamp_seconds',
    'When a VPN service was last checked, in epoch seconds.',
    'service',
    'exit_ip',
  );
  readonly #vpnCertificate = this.#gauge(
    'vpn_certificate_expiry_timestamp_seconds',
    'When the certificate of the VPN ends, in epoch seconds; no sample without one.',
  );
  readonly #free = this.#gauge('disk_free_bytes', 'Free space where the state folder is.');
  readonly #size = this.#gauge('disk_size_bytes', 'Size of the file system of the state folder.');

  /** `state_dir`: the folder whose disk is measured. */
  constructor(read: () => Facts, now: () => number, state_dir: string) {
    this.#read = read;
    this.#now = now;
    this.#dir = state_dir;
    collectDefaultMetrics({ register: this.registry });
    this.registry.registerMetric(this.#decisionSeconds());
  }

  /** All metrics now, in Prometheus' text format. */
  async text(): Promise<string> {
    for (const clear of this.#clears) clear();
    const facts = this.#read();
    this.#setNode(facts);
    if (facts.counts) this.#setEngine(facts.counts, facts.listeners);
    try {
      const { bavail, blocks, bsize } = await statfs(this.#dir);
      this.#free.set(bavail * bsize);
      this.#size.set(blocks * bsize);
    } catch {
      // A missing disk is a fault, but the other metrics are shown.
    }
    return this.registry.metrics();
  }

  #setNode({ status, held, behind_seconds = 0, oldest_usage_at, transferred }: Facts): void {
    const { version, engine, state, stored, applied, heard_at, exits, vpn, faults } = status;
    this.#build.set({ version, node_version: process.version, engine }, 1);
    setCounter(this.#traffic, [
      [{ direction: 'up' }, transferred?.up ?? 0],
      [{ direction: 'down' }, transferred?.down ?? 0],
    ]);
    for (const { ip: exit_ip, status, checked_at } of exits) {
      if (status !== 'unknown') this.#exitUp.set({ exit_ip }, status === 'crit' ? 0 : 1);
      this.#exitChecked.set({ exit_ip }, checked_at);
    }
    for (const { service, ip: exit_ip, status, checked_at } of vpn?.services ?? []) {
      this.#vpnUp.set({ service, exit_ip }, status === 'crit' ? 0 : 1);
      this.#vpnChecked.set({ service, exit_ip }, checked_at);
    }
    if (vpn?.certificate_expiry) this.#vpnCertificate.set(vpn.certificate_expiry);
    this.#following.set(state === 'following' ? 1 : 0);
    this.#drained.set(status.drained ? 1 : 0);
    if (heard_at !== null) this.#heard.set(heard_at);
    for (const [at, position] of Object.entries({ heard: held, stored, applied })) {
      if (position) this.#revision.set({ at }, position.revision);
    }
    if (held) {
      const appliedRevision = applied?.epoch === held.epoch ? applied.revision : 0;
      this.#lag.set(Math.max(0, held.revision - appliedRevision));
    }
    this.#behind.set(behind_seconds);
    this.#rows.set(status.usage_waiting);
    this.#oldest.set(
      oldest_usage_at === undefined ? 0 : Math.max(0, this.#now() - oldest_usage_at),
    );
    for (const [kind, ofKind] of Map.groupBy(faults, ({ kind }) => kind)) {
      this.#faults.set({ kind }, ofKind.length);
      this.#since.set({ kind }, Math.min(...ofKind.map(({ since }) => since)));
    }
  }

  #setEngine(counts: EngineCounts, listeners: Facts['listeners'] = new Map()): void {
    const { decisions, open_connections, policy, squids, deciders, tunnels } = counts;
    this.#decisions = decisions;
    setCounter(
      this.#allowed,
      authorities.map((by) => [{ by }, decisions.outcomes[by] ?? 0]),
    );
    setCounter(
      this.#refusals,
      allReasons.map((reason) => [{ reason }, decisions.outcomes[reason] ?? 0]),
    );
    for (const { port, tls, exit_ip } of listeners.values()) {
      const service = tls ? 'proxy-https' : 'proxy';
      this.#connections.inc({ service, exit_ip }, open_connections.get(port) ?? 0);
    }
    for (const [kind, count] of Object.entries(policy ?? {})) this.#entries.set({ kind }, count);
    for (const { number, up } of squids) this.#squidUp.set({ squid: String(number) }, up ? 1 : 0);
    setCounter(
      this.#squidStarts,
      squids.map(({ number, starts }) => [{ squid: String(number) }, starts]),
    );
    if (deciders !== undefined) this.#deciders.set(deciders);
    if (tunnels !== undefined) this.#tunnels.set(tunnels);
  }

  /** A histogram of counts that were made elsewhere. */
  #decisionSeconds(): Metric {
    const name = 'exitward_agent_decision_seconds';
    const get = async () => {
      const { took, seconds } = this.#decisions ?? { took: [], seconds: 0 };
      let count = 0;
      const buckets = [...bucketSeconds, '+Inf'].map((le, bucket) => {
        count += took[bucket] ?? 0;
        return { metricName: `${name}_bucket`, labels: { le }, value: count };
      });
      return {
        name,
        help: 'Time from the question of a request to its decision.',
        type: 'histogram',
        aggregator: 'sum',
        values: [
          ...buckets,
          { metricName: `${name}_sum`, labels: {}, value: seconds },
          { metricName: `${name}_count`, labels: {}, value: count },
        ],
      };
    };
    return { name, get } as unknown as Metric;
  }

  #gauge(name: string, help: string, ...labelNames: string[]): Gauge {
    const registers = [this.registry];
    const gauge = new Gauge({ name: `exitward_agent_${name}`, help, labelNames, registers });
    // A gauge without labels would show 0 if there is no value.
    this.#clears.push(() => (labelNames.length > 0 ? gauge.reset() : gauge.remove()));
    return gauge;
  }

  #counter(name: string, help: string, labelNames: string[]): Counter {
    const registers = [this.registry];
    return new Counter({ name: `exitward_agent_${name}`, help, labelNames, registers });
  }
}

/** Sets a counter to sums that are counted elsewhere and only grow. */
function setCounter(counter: Counter, sums: Array<[labels: Record<string, string>, sum: number]>) {
  counter.reset();
  for (const [labels, sum] of sums) counter.inc(labels, sum);
}

/**
 * Serves only `/metrics`, until the signal is aborted. `onListening` is called with the URL.
 * Errors: it cannot listen there.
 */
export async function serveMetrics(
  metrics: Metrics,
  { host, port }: ListenAddress,
  signal: AbortSignal,
  onListening: (url: string) => void,
): Promise<void> {
  const server = metricsListener(metrics.registry.contentType, () => metrics.text());
  server.listen(port, host);
  await once(server, 'listening').catch((error: Error) => {
    const setting = 'EXITWARD_AGENT_METRICS_LISTEN';
    const at = { host, port };
    throw new Error(listenFault({ at, purpose: 'metrics', setting, isOptional: true }, error));
  });
  // From here on an error concerns a single connection that could not be accepted.
  server.on('error', () => {});
  const at = { host, port: (server.address() as AddressInfo).port };
  onListening(`http://${addressText(at)}/metrics`);
  if (!signal.aborted) await once(signal, 'abort');
  server.close();
  server.closeAllConnections();
}
