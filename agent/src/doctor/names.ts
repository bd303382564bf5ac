// Names, and access to the Internet: do the name servers answer correctly, and can each exit reach
// the Internet?
import { randomBytes } from 'node:crypto';
import { promises as dns, NODATA, NOTFOUND } from 'node:dns';
import { isIP, isIPv6 } from 'node:net';
import { fault, listed, type Outcome, ok, warning } from '../../../kit/src/doctor/check.ts';
import { canConnect } from '../../../kit/src/doctor/reach.ts';
import { machineNameServers } from '../name_servers.ts';
import { exitsOf } from './ports.ts';
import type { NodeCheck, Subject } from './subject.ts';

const patienceSeconds = 5;
/** Clients wait this long for each new name. */
const slowMs = 500;
const maxAtOnce = 8;

export const nameChecks: NodeCheck[] = [
  { name: 'dns', run: names },
  { name: 'outbound', run: outbound },
];

/** The reply of a name server; `absent`: there is no such name. */
interface Reply {
  what: 'addresses' | 'absent' | 'nothing';
  addresses: string[];
  /** The error code. */
  error: string;
  milliseconds: number;
}

async function names(subject: Subject): Promise<Outcome[]> {
  const { config } = subject;
  const isOwn = config.dns_servers.length > 0;
  const servers = isOwn ? config.dns_servers : machineNameServers();
  const where = isOwn ? 'EXITWARD_AGENT_DNS_SERVERS' : '/etc/resolv.conf';
  if (servers.length === 0) {
    return [fault('There is no name server.', `name one in ${where}`)];
  }
  const outcomes = await Promise.all(servers.map((server) => judge(server, where, subject)));
  const good = outcomes.filter(({ state }) => state !== 'fault');
  if (good.length === 0) return outcomes;
  // With one working server names are resolved, but only after the others have timed out.
  return outcomes.map((outcome) =>
    outcome.state === 'fault' ? { ...outcome, state: 'warning' } : outcome,
  );
}

async function judge(server: string, where: string, subject: Subject): Promise<Outcome> {
  // A name of 128 random bits, which does not exist.
  const absent = `${randomBytes(16).toString('hex')}.com`;
  const host = subject.url && new URL(subject.url).hostname;
  const controlName =
    host && !isIP(host.replace(/[[\]]/g, '')) && host !== 'localhost' ? host : undefined;
  const wrong = await ask(server, absent, subject);
  if (wrong.what === 'nothing') {
    return fault(
      `The name server ${server} does not answer (${wrong.error}): names that clients ask for are not found.`,
      `dig @${server} example.com; then ${where}`,
    );
  }
  if (wrong.what === 'addresses') {
    return warning(
      `The name server ${server} answers ${listed(wrong.addresses)} for a name that does not exist: clients are led elsewhere instead of getting an error.`,
      `another one in ${where}, such as 9.9.9.9`,
    );
  }
  const ipv6 = await ask(server, absent, subject, 6);
  if (ipv6.what === 'nothing') {
    return warning(
      `The name server ${server} ignores questions for IPv6 addresses (AAAA): with Squid, each new name takes seconds.`,
      `dig @${server} AAAA example.com; another one in ${where}, such as 9.9.9.9`,
    );
  }
  const right = controlName === undefined ? undefined : await ask(server, controlName, subject);
  if (right && right.what !== 'addresses') {
    return warning(
      `The name server ${server} has no address for ${controlName}, the control plane.`,
      `dig @${server} ${controlName}`,
    );
  }
  const milliseconds = Math.round(right?.milliseconds ?? wrong.milliseconds);
  const sentence = `The name server ${server} answers in ${milliseconds} ms, and correctly for a name that does not exist`;
  if (milliseconds <= slowMs) return ok(`${sentence}.`);
  return warning(
    `${sentence}: slow; expected ${slowMs} ms at most.`,
    `another one in ${where}, or a resolver on this machine: apt-get install unbound`,
  );
}

/** `family` 4: asks for IPv4 addresses, and if there are none, for IPv6 ones. */
async function ask(
  server: string,
  name: string,
  { clock }: Subject,
  family: 4 | 6 = 4,
): Promise<Reply> {
  const resolver = new dns.Resolver({ timeout: 1500, tries: 2 });
  resolver.setServers([server]);
  const start = clock.steady();
  const timer = setTimeout(() => resolver.cancel(), patienceSeconds * 1000);
  const replyOf = (what: Reply['what'], addresses: string[] = [], error = ''): Reply => ({
    what,
    addresses,
    error,
    milliseconds: (clock.steady() - start) * 1000,
  });
  try {
    const resolve6 = () => resolver.resolve6(name);
    const resolve4 = () =>
      resolver.resolve4(name).catch((error) => {
        if (error.code === NODATA) return resolve6();
        throw error;
      });
    return replyOf('addresses', await (family === 4 ? resolve4() : resolve6()));
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return code === NOTFOUND || code === NODATA ? replyOf('absent') : replyOf('nothing', [], code);
  } finally {
    clearTimeout(timer);
  }
}

async function outbound(subject: Subject): Promise<Outcome[]> {
  const { outbound: host } = subject;
  if (host === undefined) return [ok('No connection to the Internet was tried.')];
  const targets = isIP(host)
    ? [host]
    : (await dns.lookup(host, { all: true }).catch(() => [])).map(({ address }) => address);
  const four = targets.find((address) => !isIPv6(address));
  const six = targets.find((address) => isIPv6(address));
  if (targets.length === 0) {
    return [
      warning(
        `The name ${host} has no address, so no connection to the Internet was tried.`,
        'exitward-agent doctor --outbound HOST, with a host that takes connections on 80 and 443',
      ),
    ];
  }
  const exits = exitsOf(subject);
  if (exits.length === 0) {
    const target = (four ?? six) as string;
    return [judgeExit(host, undefined, await tryPorts(target, undefined))];
  }
  const outcomes: Outcome[] = [];
  for (let at = 0; at < exits.length; at += maxAtOnce) {
    const trials = exits.slice(at, at + maxAtOnce).map(async (exit) => {
      const target = isIPv6(exit) ? six : four;
      if (target === undefined) return [];
      return [judgeExit(host, exit, await tryPorts(target, exit))];
    });
    outcomes.push(...(await Promise.all(trials)).flat());
  }
  const bad = outcomes.filter(({ state }) => state !== 'ok');
  if (bad.length > 0) return bad;
  const untried = exits.length - outcomes.length;
  const others = untried === 0 ? '' : `; ${host} has no address of the family of ${untried} others`;
  return [ok(`Connections to ${host} leave on 80 and 443 from ${outcomes.length} exits${others}.`)];
}

/** By port: undefined, or why there was no connection. */
type Tried = Array<[port: number, error: string | undefined]>;

async function tryPorts(target: string, from: string | undefined): Promise<Tried> {
  return Promise.all(
    [80, 443].map(
      async (port): Promise<Tried[number]> => [port, await canConnect(target, port, from)],
    ),
  );
}

function judgeExit(host: string, exit: string | undefined, tried: Tried): Outcome {
  const failed = tried.filter(([, error]) => error !== undefined);
  const from = exit === undefined ? '' : ` from ${exit}`;
  if (failed.length === 0) return ok(`Connections to ${host} leave on 80 and 443${from}.`);
  const ports = failed.map(([port, error]) => `${port} (${error})`).join(' and ');
  // Only this host may be down, or this network may be closed on purpose. The exits' health checks
  // show what clients get.
  return warning(
    `No connection to ${host} leaves${from} on ${ports}: clients cannot connect unless only ${host} is down.`,
    exit === undefined
      ? `curl -v http://${host}/`
      : `curl -v --interface ${exit} http://${host}/; ip route get ADDRESS from ${exit}`,
  );
}
