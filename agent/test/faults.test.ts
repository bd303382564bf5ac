// The list of a node's faults: the start of each, the reports to the control plane, and the faults
// that are found by looking.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { issueCertificate } from '../../server/test/certificate.ts';
import { Certificate } from '../src/certificate.ts';
import { CertificateTrust } from '../src/certificate_trust.ts';
import { systemClock } from '../src/clock.ts';
import type { Config } from '../src/config.ts';
import { type Fault, FaultList, type KnownFault } from '../src/faults.ts';
import { ExitAddresses } from '../src/health/exit_addresses.ts';
import { FaultReporter } from '../src/link/fault_reporter.ts';
import type { Listener } from '../src/policy/policy.ts';
import { createCertificate } from './node_records.ts';

const portFault = (port: number, message = 'It is taken.'): Fault => ({
  kind: 'port',
  subject: String(port),
  message,
});

test('a fault has the time of its beginning, whatever is reported later, and a new time when it was over', () => {
  const list = new FaultList();
  expect(list.update([portFault(1)], 100)).toEqual([{ ...portFault(1), since: 100 }]);
  expect(list.update([portFault(2), portFault(1, 'It is still taken.')], 160)).toEqual([
    { ...portFault(2), since: 160 },
    { ...portFault(1, 'It is still taken.'), since: 100 },
  ]);
  list.update([], 170);
  expect(list.update([portFault(1)], 180)).toEqual([{ ...portFault(1), since: 180 }]);
  // A clock that was set back.
  expect(list.update([portFault(1)], 50)).toEqual([{ ...portFault(1), since: 50 }]);
});

describe('the control plane', () => {
  function scene() {
    const reports: KnownFault[][] = [];
    const state = { now: 0, faults: [] as KnownFault[], isAway: false };
    const reporter = new FaultReporter({
      faults: () => state.faults,
      control: {
        async reportFaults(faults) {
          if (state.isAway) throw new Error('away');
          reports.push(faults);
        },
      },
      clock: { ...systemClock, steady: () => state.now },
      log: pino({ level: 'silent' }),
    });
    return Object.assign(state, { reports, reporter });
  }

  test('gets the list at the start, when it changes, and after five minutes', async () => {
    const made = scene();
    await made.reporter.report();
    expect(made.reports).toEqual([[]]);
    made.faults = [{ ...portFault(1), since: 5 }];
    await made.reporter.report();
    await made.reporter.report();
    expect(made.reports).toEqual([[], made.faults]);
    made.now = 301;
    await made.reporter.report();
    expect(made.reports).toHaveLength(3);
  });

  test('that is away gets it when it is back', async () => {
    const made = scene();
    made.isAway = true;
    made.faults = [{ ...portFault(1, 'x'.repeat(5000)), since: 5 }];
    await made.reporter.report();
    made.isAway = false;
    await made.reporter.report();
    expect(made.reports).toEqual([[{ ...portFault(1, 'x'.repeat(1000)), since: 5 }]]);
  });
});

test('an exit address that this machine does not have is a fault', async () => {
  const exits = ['198.51.100.1', '127.9.9.9', '2001:db8::1', '::1'];
  const listeners = () =>
    new Map(exits.map((exit_ip, port) => [port, { exit_ip, port } as Listener]));
  const addresses = new ExitAddresses({ listeners, clock: systemClock });
  await addresses.look();
  expect(addresses.faults().map(({ kind, subject }) => [kind, subject])).toEqual([
    ['exit_address', '198.51.100.1'],
    ['exit_address', '2001:db8::1'],
  ]);
  exits.splice(0, 3);
  await addresses.look();
  expect(addresses.faults()).toEqual([]);
});

describe('a certificate', () => {
  const day = 86_400;

  function scene() {
    const dir = mkdtempSync(join(tmpdir(), 'exitward-certificate-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const files = { cert_file: join(dir, 'crt'), key_file: join(dir, 'key') };
    const start = systemClock.now();
    const clock = { days: 0 };
    const certificate = new Certificate(
      { tls: files, acme: undefined },
      () => start + clock.days * day,
    );
    return Object.assign(clock, {
      cert_file: files.cert_file,
      certificate,
      /** Puts one in place that lasts so long. */
      place(days: number) {
        const { cert, key } = issueCertificate('proxy.test', { days });
        writeFileSync(files.key_file, key, { mode: 0o600 });
        writeFileSync(files.cert_file, cert);
      },
      messages: () => certificate.faults().map(({ message }) => message),
    });
  }

  test('is reported two weeks before its end, and when it has expired', async () => {
    const made = scene();
    made.place(100);
    expect(await made.certificate.renew()).toBe(true);
    expect(made.messages()).toEqual([]);
    made.days = 90;
    expect(made.certificate.faults()).toEqual([
      {
        kind: 'certificate',
        subject: made.cert_file,
        message: expect.stringMatching(/ expires at \d{4}-.*Z, in (9|10) days\.$/),
      },
    ]);
    made.days = 101;
    expect(await made.certificate.renew()).toBe(false);
    expect(made.certificate.fault).toBeUndefined();
    expect(made.messages()).toEqual([expect.stringMatching(/ expired at /)]);
    made.place(200);
    expect(await made.certificate.renew()).toBe(true);
    expect(made.messages()).toEqual([]);
  });

  test('that has expired, or is not valid yet, does not replace one that is good', async () => {
    const made = scene();
    made.place(100);
    await made.certificate.renew();
    const good = made.certificate.current;
    made.place(1);
    made.days = 10;
    expect(await made.certificate.renew()).toBe(false);
    expect(made.certificate.current).toBe(good);
    expect(made.certificate.fault).toMatch(/cannot be used: the certificate expired at .*Z\.$/);
    made.days = -1;
    expect(await made.certificate.renew()).toBe(false);
    expect(made.certificate.fault).toMatch(/is valid from .*Z only\.$/);
    expect(made.certificate.current).toBe(good);
  });

  test('that has expired serves where there is no other, and does not replace one that Squid has', async () => {
    const made = scene();
    made.place(1);
    made.days = 10;
    expect(await made.certificate.renew(true)).toBe(false);
    expect(made.certificate.current).toBeUndefined();
    expect(await made.certificate.renew()).toBe(true);
    expect(made.messages()).toEqual([expect.stringMatching(/ expired at /)]);
  });
});

test('a certificate that clients would reject is a fault while something shows it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-certificate-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const tls = { cert_file: join(dir, 'crt'), key_file: join(dir, 'key') };
  const { cert, key } = createCertificate('proxy.test');
  writeFileSync(tls.cert_file, cert);
  writeFileSync(tls.key_file, key);
  const state = { isShown: true };
  const acme = { names: ['proxy.test'] } as Config['acme'];
  const isShown = () => state.isShown;
  const trust = new CertificateTrust({ config: { tls, acme }, dir, isShown, clock: systemClock });
  const stopping = new AbortController();
  const running = trust.run(stopping.signal);
  await vi.waitFor(() => {
    expect(trust.faults()).toEqual([
      {
        kind: 'certificate',
        subject: `${tls.cert_file} trust`,
        message: expect.stringContaining(' reject it: it is signed by itself; the file needs '),
      },
    ]);
  }, 90_000);
  state.isShown = false;
  expect(trust.faults()).toEqual([]);
  stopping.abort();
  await running;
});

test('an RSA certificate with an EC key is a fault, at the start and in place of a good pair', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-certificate-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const files = { cert_file: join(dir, 'crt'), key_file: join(dir, 'key') };
  const place = ({ cert, key }: { cert: string; key: string }) => {
    writeFileSync(files.cert_file, cert);
    writeFileSync(files.key_file, key);
  };
  const [rsa, ec] = [createCertificate('proxy.test', 'rsa'), createCertificate('proxy.test')];
  const certificate = new Certificate({ tls: files, acme: undefined }, systemClock.now);
  place({ cert: rsa.cert, key: ec.key });
  expect(await certificate.renew()).toBe(false);
  expect(certificate.fault).toContain('the key is not that of the certificate');
  place(ec);
  expect(await certificate.renew()).toBe(true);
  const { current } = certificate;
  place({ cert: rsa.cert, key: ec.key });
  expect(await certificate.renew()).toBe(false);
  expect([certificate.current, certificate.fault]).toEqual([
    current,
    expect.stringContaining('the key is not that of the certificate'),
  ]);
});

test('a file without a certificate is a fault of the files', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-certificate-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const files = { cert_file: join(dir, 'crt'), key_file: join(dir, 'key') };
  for (const file of Object.values(files)) writeFileSync(file, 'nothing\n');
  const certificate = new Certificate({ tls: files, acme: undefined }, systemClock.now);
  expect(await certificate.renew()).toBe(false);
  expect([certificate.fault, certificate.faults()]).toEqual([
    expect.stringContaining('cannot be used'),
    [],
  ]);
});
