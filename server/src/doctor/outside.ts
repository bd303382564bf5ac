// The server as seen from outside: its certificate, its public URL, its clock.
import { X509Certificate } from 'node:crypto';
import { promises as dns } from 'node:dns';
import { isIP } from 'node:net';
import { renewalDue, Trust, validityOf } from '../../../kit/src/certificate.ts';
import { type Check, fault, type Outcome, ok, warning } from '../../../kit/src/doctor/check.ts';
import { lookAtClock } from '../../../kit/src/doctor/clock.ts';
import { canConnect, shownCertificate, stepSeconds } from '../../../kit/src/doctor/reach.ts';
import type { Clock } from '../clock.ts';
import { type Config, hostOf, isLoopback } from '../config.ts';
import { nodeUrlObstacle } from '../install/install.ts';
import { installation } from '../install/installation.ts';
import { type Certificate, readCertificate } from '../tls/certificate.ts';

/** `isRunning`: whether anything is expected to answer. */
export function outsideChecks(config: Config, clock: Clock, isRunning: boolean): Check[] {
  return [
    { name: 'certificate', run: () => certificateFiles(config, clock) },
    { name: 'public_url', run: () => publicUrl(config, clock, isRunning) },
    { name: 'node_url', run: () => nodeUrl(config) },
    { name: 'clock', run: () => lookAtClock('expiries and bills') },
  ];
}

async function certificateFiles(
  { tls, tls_terminated, public_url }: Config,
  clock: Clock,
): Promise<Outcome> {
  if (!tls) {
    return ok(
      tls_terminated
        ? 'A proxy in front has the certificate (EXITWARD_TLS_TERMINATED).'
        : 'The server has no certificate, and listens on this machine alone.',
    );
  }
  const { cert_file } = tls;
  const renew = `renew it, and copy it to ${cert_file}: it is taken without a restart`;
  let pair: Certificate;
  try {
    pair = readCertificate(tls);
  } catch (error) {
    return fault((error as Error).message, renew);
  }
  const certificate = new X509Certificate(pair.cert);
  const host = hostOf(public_url);
  const isNamed = isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host);
  const names = (certificate.subjectAltName ?? certificate.subject).replaceAll(
    /(DNS|IP Address):/g,
    '',
  );
  const days = daysLeft(certificate.validTo, clock);
  if (days < 0) return fault(`The certificate ${cert_file} expired ${-days} days ago.`, renew);
  if (!isNamed) {
    return fault(
      `The certificate ${cert_file} is for ${names}, and EXITWARD_PUBLIC_URL has ${host}.`,
      'set EXITWARD_PUBLIC_URL to a name that the certificate has, or get another one',
    );
  }
  const trust = new Trust();
  await trust.judge(pair, host);
  if (trust.rejection !== undefined) {
    return warning(
      `Clients that verify the certificate ${cert_file} reject it: ${trust.rejection}.`,
      'the file needs the whole chain (fullchain.pem of certbot); for an authority of your own: update-ca-certificates',
    );
  }
  const sentence = `The certificate ${cert_file} is for ${names} and expires in ${days} days`;
  return isDue(certificate.validFrom, certificate.validTo, clock)
    ? warning(`${sentence}.`, renew)
    : ok(`${sentence}.`);
}

function isDue(from: string, until: string, clock: Clock): boolean {
  return clock.now() >= renewalDue(validityOf(from, until));
}

function daysLeft(until: string, clock: Clock): number {
  return Math.floor((Date.parse(until) / 1000 - clock.now()) / 86_400);
}

async function publicUrl(config: Config, clock: Clock, isRunning: boolean): Promise<Outcome[]> {
  const url = new URL(config.public_url);
  const host = hostOf(config.public_url);
  if (isLoopback(host)) {
    return [
      warning(
        `The public URL is ${url.origin}, which no other machine can reach: links in invitations do not work there.`,
        installation.withSetting('EXITWARD_PUBLIC_URL=https://NAME'),
      ),
    ];
  }
  const addresses = isIP(host)
    ? [host]
    : (await dns.lookup(host, { all: true }).catch(() => [])).map(({ address }) => address);
  const [address] = addresses;
  if (address === undefined) {
    return [
      fault(`The name ${host} of the public URL has no address.`, `an A or AAAA record of ${host}`),
    ];
  }
  if (!isRunning) return [ok(`The public URL ${url.origin} leads to ${addresses.join(', ')}.`)];
  const port = Number(url.port) || 443;
  const error = await canConnect(address, port);
  if (error !== undefined) {
    return [
      warning(
        `From this machine the public URL ${url.origin} is not reached at ${address}: ${error}. A router that does not lead back may be the reason.`,
        `curl -v ${url.origin}/healthz, here and on another machine; the firewall, and the proxy in front`,
      ),
    ];
  }
  const shown = await publicCertificate(host, address, port, clock);
  return shown.state === 'fault' ? [shown] : [shown, await answer(url)];
}

function nodeUrl(config: Config): Outcome {
  const obstacle = nodeUrlObstacle(config);
  if (obstacle) return warning(obstacle.message, obstacle.remedy);
  return ok(`Nodes connect to ${config.node_url}.`);
}

/** The certificate that clients see, which may be that of a proxy in front. */
async function publicCertificate(
  host: string,
  address: string,
  port: number,
  clock: Clock,
): Promise<Outcome> {
  try {
    const { names, valid_from, valid_to, authorized, error } = await shownCertificate(
      host,
      address,
      port,
    );
    if (!authorized) {
      return fault(
        `Clients of ${host} are shown a certificate of ${names || 'no name'} until ${valid_to}, which is not valid (${error}).`,
        `openssl s_client -connect ${host}:${port}; for a certificate authority of your own: NODE_EXTRA_CA_CERTS`,
      );
    }
    const days = daysLeft(valid_to, clock);
    const sentence = `Clients of ${host} get a certificate for ${names}, which expires in ${days} days`;
    return isDue(valid_from, valid_to, clock)
      ? warning(`${sentence}.`, 'renew it')
      : ok(`${sentence}.`);
  } catch (error) {
    return fault(
      `${host}:${port} takes connections and speaks no TLS: ${(error as Error).message}.`,
      'the proxy in front, or EXITWARD_TLS_CERT',
    );
  }
}

async function answer(url: URL): Promise<Outcome> {
  const remedy = `curl -v ${url.origin}/healthz; the proxy in front`;
  try {
    const response = await fetch(`${url.origin}/healthz`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(stepSeconds * 1000),
    });
    const text = await response.text();
    if (response.status === 200 && text === '{"status":"ok"}') {
      return ok(`The public URL ${url.origin} leads to an Exitward.`);
    }
    return fault(
      `The public URL ${url.origin} answers ${response.status} at /healthz, not as Exitward does.`,
      remedy,
    );
  } catch (error) {
    return fault(
      `The public URL ${url.origin} does not answer: ${(error as Error).message}.`,
      remedy,
    );
  }
}
