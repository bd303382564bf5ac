// The network as a person asks for it: its traffic, its nodes and exits, and what needs attention.
import { counted } from '../../../kit/src/cli/output.ts';
import { bitsInWords, bytesInWords, timeInWords } from '../../../kit/src/cli/values.ts';
import type { Point } from './history_words.ts';

export interface Status {
  version: string;
  now: number;
  maintenance: boolean;
  database: { engine: string; schema: number; revision: number; fault: string | null };
  accounts: number;
  servers: number;
  nodes: { all: number; live: number; lagging: number };
  exits: { ok: number; warn: number; crit: number; unknown: number };
  geoip: ReadonlyArray<{ provider: string; fault: string | null }>;
  tls: {
    names: readonly string[];
    not_after: number;
    last_error: string | null;
    rejection: string | null;
  } | null;
  backups: { last: { at: number } | null; late: boolean; fault: string | null } | null;
  joining: { obstacles: ReadonlyArray<{ message: string; remedy: string }> };
}

/** Things of the last hours, as `GET /admin/notices` has them. */
export interface Notices {
  limits: ReadonlyArray<{
    account: string;
    user: string;
    used_up: boolean;
    usage: number;
    limit_bytes: number;
  }>;
  rising: ReadonlyArray<{ account: string; refusals: number; usual_refusals: number }>;
  tries: ReadonlyArray<{ network: string; users: number }>;
}

/** `latest`: the newest point of the history, if anything was measured lately. */
export function statusInWords(
  status: Status,
  latest: Point | undefined,
  notices?: Notices,
): string {
  const { version, now, database, accounts, servers, nodes, exits, tls, backups } = status;
  const { ok, warn, crit, unknown } = exits;
  const states = [
    `${ok} healthy`,
    ...(warn > 0 ? [`${warn} degraded`] : []),
    ...(crit > 0 ? [`${crit} down`] : []),
    ...(unknown > 0 ? [`${unknown} not checked`] : []),
  ];
  const attention = [...attentionTo(status, latest), ...(notices ? inWords(notices) : [])];
  return [
    `Exitward ${version}, ${timeInWords(now)}`,
    '',
    `Traffic   ${trafficInWords(latest)}`,
    `Nodes     ${nodes.live} of ${nodes.all} online`,
    `Exit IPs  ${states.join(', ')}`,
    `Network   ${counted(servers, 'server')}, ${counted(accounts, 'account')}`,
    `Database  ${database.engine}, schema ${database.schema}, revision ${database.revision}`,
    ...(tls ? [`TLS       ${tls.names.join(', ')}, until ${timeInWords(tls.not_after)}`] : []),
    ...(backups ? [`Backup    ${timeInWords(backups.last?.at ?? 0)}`] : []),
    '',
    attention.length === 0 ? 'Nothing needs attention.' : 'Needs attention:',
    ...attention.map((sentence) => `-  ${sentence}`),
    '',
  ].join('\n');
}

function trafficInWords(latest: Point | undefined): string {
  if (!latest || latest.measured_seconds === 0) return 'none was measured lately';
  const { down, up, measured_seconds, connections_peak } = latest;
  const connections =
    connections_peak === null ? '' : `, ${counted(connections_peak, 'connection')}`;
  const speed = (bytes: number) => bitsInWords((bytes * 8) / measured_seconds);
  return `${speed(down)} to clients, ${speed(up)} from clients${connections}`;
}

function inWords({ limits, rising, tries }: Notices): string[] {
  const list = 'exitward refusal list';
  return [
    ...limits.map(
      ({ account, user, used_up, usage, limit_bytes }) =>
        `${user} of ${account} used ${used_up ? 'up' : `${Math.floor((100 * usage) / limit_bytes)}% of`} a limit of ${bytesInWords(limit_bytes)}: exitward user list ${account}`,
    ),
    ...rising.map(
      ({ account, refusals, usual_refusals: usual }) =>
        `${counted(refusals, 'connection')} of ${account} refused within an hour, usually ${usual}: ${list} --account ${account}`,
    ),
    ...tries.map(
      ({ network, users }) =>
        `${network} tries ${users} users with wrong VPN passwords: ${list} --reason bad_token`,
    ),
  ];
}

function attentionTo(status: Status, latest: Point | undefined): string[] {
  const { database, maintenance, nodes, exits, geoip, tls, backups, joining } = status;
  const offline = nodes.all - nodes.live;
  const problems = latest?.faults_peak ?? 0;
  const ifAny = (count: number, noun: string, singular: string, plural: string) =>
    count === 0 ? [] : [`${counted(count, noun)} ${count === 1 ? singular : plural}`];
  const list = 'exitward node list';
  return [
    ...(database.fault === null ? [] : [database.fault]),
    ...(maintenance ? ['Maintenance is on: /v0 answers 503. exitward maintenance off'] : []),
    ...ifAny(offline, 'node', `is offline: ${list}`, `are offline: ${list}`),
    ...ifAny(
      nodes.lagging,
      'node',
      `is behind with changes: ${list}`,
      `are behind with changes: ${list}`,
    ),
    ...ifAny(
      problems,
      'problem',
      `is reported by nodes: ${list}`,
      `are reported by nodes: ${list}`,
    ),
    ...ifAny(
      exits.crit,
      'exit IP',
      'is down: exitward server list',
      'are down: exitward server list',
    ),
    ...ifAny(
      exits.warn,
      'exit IP',
      'is degraded: exitward server list',
      'are degraded: exitward server list',
    ),
    ...(tls?.last_error ? [`Certificate: ${tls.last_error}`] : []),
    ...(tls?.rejection ? [`Clients reject the certificate: ${tls.rejection}`] : []),
    ...(backups?.fault ? [`Backups: ${backups.fault}`] : []),
    ...(backups?.late ? ['The newest backup is late.'] : []),
    ...geoip.flatMap(({ provider, fault }) =>
      fault === null ? [] : [`Geo-IP ${provider}: ${fault}`],
    ),
    ...joining.obstacles.map(({ message, remedy }) => `${message} → ${remedy}`),
  ];
}
