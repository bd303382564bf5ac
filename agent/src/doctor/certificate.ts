// The certificate of the TLS ports and the VPN: is it usable, and do clients accept it?
import { Trust } from '../../../kit/src/certificate.ts';
import { fault, type Outcome, ok, warning } from '../../../kit/src/doctor/check.ts';
import { Certificate } from '../certificate.ts';
import { dialledName, trustRemedy } from '../certificate_trust.ts';
import type { NodeCheck, Subject } from './subject.ts';

export const certificateChecks: NodeCheck[] = [{ name: 'certificate', run: examine }];

async function examine({ config, clock, server }: Subject): Promise<Outcome> {
  if (!config.tls) return ok('No certificate is set.');
  const certificate = new Certificate(config, () => clock.now());
  await certificate.renew();
  const { current, fault: reason } = certificate;
  if (!current) {
    const sentence = `No certificate: ${reason}`;
    return config.acme ? ok(sentence) : fault(sentence, 'the right pair of files: docs/tls.md');
  }
  const [late] = certificate.faults();
  if (late) return warning(late.message, 'renew it: docs/tls.md');
  const host = dialledName(config, server?.hostname);
  if (host === undefined) return ok('The certificate and its key are a pair.');
  const trust = new Trust();
  await trust.judge(current, host);
  if (trust.rejection === undefined) return ok(`Clients of ${host} accept the certificate.`);
  return warning(`Clients of ${host} reject the certificate: ${trust.rejection}.`, trustRemedy);
}
