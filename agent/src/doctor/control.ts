// The path to the control plane, step by step: name, connection, certificate and response; and a
// comparison of the clocks.
import { promises as dns } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { renewalDue, validityOf } from '../../../kit/src/certificate.ts';
import { fault, type Outcome, ok, warning } from '../../../kit/src/doctor/check.ts';
import { clockRemedy, lookAtClock } from '../../../kit/src/doctor/clock.ts';
import { canConnect, shownCertificate, stepSeconds } from '../../../kit/src/doctor/reach.ts';
import { request as httpRequest } from '../../../kit/src/node_http.ts';
import type { Clock } from '../clock.ts';
import { trustOwnAuthority } from '../control_error.ts';
import { ControlTime } from '../health/control_time.ts';
import { askEcho, destinationOf } from '../health/echo.ts';
import { ownAddresses } from './ports.ts';
import type { NodeCheck, Subject } from './subject.ts';

export const controlChecks: NodeCheck[] = [
  { name: 'control', run: control },
  { name: 'clock', run: clock },
];

const noUrl = 'exitward-agent doctor URL';

async function control(subject: Subject): Promise<Outcome[]> {
  if (subject.url === undefined) {
    return [warning('No control plane was given, and this machine has not joined one.', noUrl)];
  }
  const url = new URL(subject.url);
  const { host, port } = destinationOf(url);
  const outcomes: Outcome[] = [];
  const addresses = isIP(host) ? [host] : await addressesOf(host);
  if (addresses.length === 0) {
    return [
      fault(
        `The name ${host} of the control plane has no address.`,
        `getent ahosts ${host}; then the name servers in /etc/resolv.conf, or its A and AAAA records`,
      ),
    ];
  }
  const reachable: string[] = [];
  for (const address of addresses) {
    const error = await canConnect(address, port);
    if (error === undefined) reachable.push(address);
    else outcomes.push(notConnected(host, address, port, error));
  }
  if (reachable.length === 0)
    return outcomes.map(({ sentence, remedy }) => fault(sentence, remedy ?? ''));
  if (url.protocol === 'https:') {
    const certificate = await checkCertificate(host, reachable[0] as string, port, subject.clock);
    outcomes.push(certificate);
    if (certificate.state === 'fault') return outcomes;
  }
  return [...outcomes, await checkAnswer(url), ...(await checkSeen(url))];
}

function notConnected(host: string, address: string, port: number, error: string): Outcome {
  const name = host === address ? host : `${host} (${address})`;
  return warning(
    `The control plane at ${name} does not accept connections on port ${port}: ${error}.`,
    `curl -v telnet://${address.includes(':') ? `[${address}]` : address}:${port}; then the firewalls between, and the control plane's listener`,
  );
}

async function addressesOf(host: string): Promise<string[]> {
  const entries = await dns.lookup(host, { all: true, verbatim: true }).catch(() => []);
  return [...new Set(entries.map(({ address }) => address))];
}

/** By the error code of the verification. */
const certificateFaults: Record<string, [string, string]> = {
  CERT_HAS_EXPIRED: [
    'it has expired',
    'timedatectl, if it has not; else renew it on the control plane',
  ],
  CERT_NOT_YET_VALID: ['it is not valid yet', 'timedatectl: this clock is behind'],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'it is for another name',
    'use a name of the certificate in the URL',
  ],
};

async function checkCertificate(
  host: string,
  address: string,
  port: number,
  { now }: Clock,
): Promise<Outcome> {
  try {
    const { names, valid_from, valid_to, authorized, error } = await shownCertificate(
      host,
      address,
      port,
    );
    const days = Math.floor((Date.parse(valid_to) / 1000 - now()) / 86_400);
    if (!authorized) {
      const [why, remedy] = certificateFaults[error ?? ''] ?? [
        `its authority is unknown here (${error})`,
        trustOwnAuthority,
      ];
      return fault(
        `The certificate of the control plane, for ${names || 'no name'}, valid until ${valid_to}, is rejected: ${why}.`,
        remedy,
      );
    }
    const sentence = `The certificate of the control plane is for ${names} and expires in ${days} days`;
    return now() >= renewalDue(validityOf(valid_from, valid_to))
      ? warning(`${sentence}: it was not renewed in time.`, 'renew it on the control plane')
      : ok(`${sentence}.`);
  } catch (error) {
    return fault(
      `The control plane at ${host}:${port} accepts connections, but does not speak TLS: ${(error as Error).message}.`,
      `openssl s_client -connect ${host}:${port}; expected the URL that it serves nodes on`,
    );
  }
}

async function checkAnswer(url: URL): Promise<Outcome> {
  try {
    const { status, text } = await get(healthOf(url));
    if (status === 200 && text === '{"status":"ok"}')
      return ok(`The control plane at ${url.href} answers.`);
    return fault(
      `${url.href} does not answer like a control plane: it returned ${status} at /healthz.`,
      `curl -v ${healthOf(url).href}; expected the URL that the control plane serves nodes on`,
    );
  } catch (error) {
    return fault(
      `The control plane accepts the connection, but does not answer: ${(error as Error).message}.`,
      `curl -v ${healthOf(url).href}`,
    );
  }
}

/** The exits must be addresses of this machine: behind a NAT, destinations see other addresses. */
async function checkSeen(url: URL): Promise<Outcome[]> {
  const echo = `${url.href.replace(/\/*$/, '')}/node/echo`;
  const signal = AbortSignal.timeout(stepSeconds * 1000);
  const address = await askEcho(echo, undefined, signal).catch(() => undefined);
  if (address === undefined || /^(127\.|::1$)/.test(address)) return [];
  if (ownAddresses().includes(address)) return [];
  return [
    warning(
      `The control plane sees this machine as ${address}, which is not an address of it: there is a NAT or a proxy in between.`,
      'exits must be addresses of this machine; behind a proxy of the control plane: EXITWARD_TRUSTED_PROXIES there',
    ),
  ];
}

function healthOf(url: URL): URL {
  return new URL(`${url.href.replace(/\/*$/, '')}/healthz`);
}

interface Response {
  status: number;
  text: string;
  date: string | undefined;
}

async function get(url: URL, isTrusted = true): Promise<Response> {
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
    agent: false,
    rejectUnauthorized: isTrusted,
    signal: AbortSignal.timeout(stepSeconds * 1000),
  });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', reject);
    request.end();
  });
  let text = '';
  for await (const piece of response.setEncoding('utf8')) {
    text += piece;
    if (text.length > 4096) break;
  }
  return { status: response.statusCode ?? 0, text, date: response.headers.date };
}

async function clock({ url, clock: nodeClock }: Subject): Promise<Outcome> {
  if (url !== undefined) {
    const time = new ControlTime(nodeClock);
    const end = time.begin();
    // The certificate is not verified: a wrong clock may be the reason why it fails, and the time
    // is not secret.
    const response = get(healthOf(new URL(url)), false).catch(() => undefined);
    const date = (await response)?.date;
    end(date);
    const [wrong] = time.faults();
    if (wrong) return fault(wrong.message, clockRemedy());
    if (date !== undefined) return ok('The clock agrees with that of the control plane.');
  }
  return lookAtClock('expiries');
}
