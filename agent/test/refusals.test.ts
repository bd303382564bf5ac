// Refused connections, as a node holds and reports them: by minute, with the user that the
// credentials name, without destinations, and within the limits.
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { ControlError } from '../src/control_error.ts';
import { RefusalReporter } from '../src/link/refusal_reporter.ts';
import { decide } from '../src/policy/decide.ts';
import type { ProxyRequest } from '../src/policy/decision.ts';
import { decideLogin } from '../src/policy/logins.ts';
import { type Refusal, Refusals, refusedBy } from '../src/policy/refusals.ts';
import { noon, rules, sourceOfAlice, tell, usual } from './histories.ts';

const minute = 1_795_229_220;
const unknown = {
  reason: 'unknown_address',
  source: '192.0.2.7',
  service: 'proxy',
  port: 10_001,
} as const;

describe('what a node holds', () => {
  test('is one row for refusals of a minute that are alike, with their number', () => {
    const refusals = new Refusals();
    refusals.note(unknown, minute);
    refusals.note(unknown, minute + 59);
    refusals.note({ ...unknown, source: '192.0.2.8' }, minute + 59);
    refusals.note(unknown, minute + 60);
    refusals.note(undefined, minute);
    expect(refusals.take()).toEqual([
      { ...unknown, at: minute, count: 2 },
      { ...unknown, source: '192.0.2.8', at: minute, count: 1 },
      { ...unknown, at: minute + 60, count: 1 },
    ]);
    expect(refusals.take()).toEqual([]);
  });

  test('is bounded: in all, of each account, and of those that name none; the newest of each stay', () => {
    const refusals = new Refusals({ all: 100, unnamed: 50, account: 10, guesses: 5 });
    const from = (at: number, names = {}) =>
      refusals.note({ ...unknown, source: `192.0.2.${at}`, ...names }, minute);
    for (let at = 1; at <= 200; at += 1) from(at);
    for (let account = 1; account <= 9; account += 1) {
      for (let at = 1; at <= 20; at += 1) from(at, { account, user: 1 });
    }
    const rows = refusals.take();
    const of = (account?: number) => rows.filter((row) => row.account === account);
    expect(rows).toHaveLength(100);
    expect(
      of()
        .map(({ source }) => source)
        .at(0),
    ).toBe('192.0.2.151');
    expect([of(), of(1), of(5), of(6)].map(({ length }) => length)).toEqual([50, 10, 10, 0]);
    expect(of(1)[0]?.source).toBe('192.0.2.11');
    from(1);
    expect(refusals.take()).toHaveLength(1);
  });

  test('has room for what names a user with proof, however many guess at passwords of the account', () => {
    const refusals = new Refusals({ all: 100, unnamed: 50, account: 10, guesses: 5 });
    const of = { account: 1, user: 1 };
    refusals.note({ ...unknown, ...of, reason: 'expired_token' }, minute);
    for (let at = 1; at <= 20; at += 1) {
      refusals.note({ ...unknown, ...of, reason: 'bad_token', source: `192.0.2.${at}` }, minute);
    }
    const reasons = refusals.take().map(({ reason }) => reason);
    expect(reasons).toEqual(['expired_token', ...Array(5).fill('bad_token')]);
  });

  test('is never what the control plane rejects, whatever a decider sends', () => {
    const refusals = new Refusals();
    const sound: Refusal = { ...unknown, at: minute, count: 3 };
    const odd: object[] = [
      { at: 0 },
      { count: 0 },
      { count: 1.5 },
      { reason: 'made_up' },
      { source: '192.0.2.007' },
      { source: 7 },
      { service: 'A' },
      { service: undefined },
      { port: 65_536 },
      { account: 1 },
      { account: 0, user: 1 },
      { account: 1, user: 'x' },
    ];
    refusals.add(odd.map((change) => ({ ...sound, ...change }) as Refusal));
    refusals.add([sound]);
    expect(refusals.take()).toEqual([sound]);
  });
});

describe('a refusal', () => {
  const { policy } = tell(usual);
  policy.heard_at = noon;
  const request: ProxyRequest = {
    kind: 'request',
    ...{ source: '::ffff:203.0.113.9', port: 10_001, method: 'CONNECT' },
    ...{ host: 'secret.example', destination_port: 443, credentials: undefined },
  };
  const refusalOf = (change: Partial<ProxyRequest> = {}) => {
    const question = { ...request, ...change };
    const decision = decide(policy, rules, question, noon);
    if (decision.verdict === 'allow') throw new Error('it is allowed');
    return refusedBy(policy, question, question.source, decision);
  };
  const claims = { kid: 'k1', account: 2, user: 1, token_version: 1, expiry: noon };
  const from = { source: '203.0.113.9', service: 'proxy', port: 10_001 };

  test('says from which address and on which port, and nothing of the destination', () => {
    expect(refusalOf()).toEqual({ reason: 'unknown_address', ...from });
    expect(refusalOf({ source: '' })).toBeUndefined();
  });

  test('names the user of the address or of a genuine token, and of no other credentials', () => {
    const names = { account: 2, user: 1 };
    const by = (change: object) => ({
      credentials: { user: 'alice', claims: { ...claims, ...change } },
    });
    expect(refusalOf(by({}))).toEqual({ reason: 'expired_token', ...from, ...names });
    const old = { token_version: 0, expiry: noon + 1 };
    expect(refusalOf(by(old))).toEqual({ reason: 'old_token_version', ...from, ...names });
    const elsewhere = { account: 9, expiry: noon + 1 };
    const refused = { reason: 'server_not_on_contract', ...from, ...names, account: 9 };
    expect(refusalOf(by(elsewhere))).toEqual(refused);
    expect(refusalOf(by({ kid: 'forged' }))).toEqual({ reason: 'bad_token', ...from });
    const typed = { credentials: { user: 'alice', password: 'secret' } };
    expect(refusalOf(typed)).toEqual({ reason: 'bad_token', ...from });
    expect(refusalOf({ source: sourceOfAlice, destination_port: 25 })).toEqual({
      ...{ reason: 'destination_refused', source: '192.0.2.10', service: 'proxy', port: 10_001 },
      ...{ account: 1, user: 1 },
    });
  });

  test('of a login to a VPN names the user of the login if the password was looked at, and no port', () => {
    const { server } = policy;
    const of = (login: string) => {
      const service = server?.services.find((name) => name.startsWith('vpn')) ?? '';
      const exit_ip = server?.exit_ips[0]?.ip ?? '';
      const question = { kind: 'login' as const, service, login, exit_ip, proves: () => false };
      const decision = decideLogin(policy, rules, question, noon);
      if (decision.verdict === 'allow') throw new Error('it is allowed');
      return refusedBy(policy, question, '203.0.113.9', decision);
    };
    const refused = { reason: 'bad_token', source: '203.0.113.9', service: 'vpn-ikev2' };
    expect(of('bob@contract-2')).toEqual({ ...refused, account: 2, user: 2 });
    expect(of('bob@nowhere')).toEqual(refused);
    policy.apply({ kind: 'server', value: { ...server, drained_nodes: [rules.node] } as never });
    expect(of('bob@contract-2')).toEqual({ ...refused, reason: 'drained' });
    policy.apply({ kind: 'server', value: server as never });
  });
});

describe('the report', () => {
  function scene() {
    const engine = new Refusals();
    const reports: Refusal[][] = [];
    const seqs: number[] = [];
    const errors: Error[] = [];
    const reporter = new RefusalReporter({
      engine: { takeRefusals: () => engine.take() },
      control: {
        async reportRefusals({ seq, refusals }) {
          seqs.push(seq);
          const error = errors.shift();
          if (error) throw error;
          reports.push(refusals as Refusal[]);
        },
      },
      clock: systemClock,
      log: pino({ level: 'silent' }),
    });
    return { engine, reports, seqs, errors, reporter };
  }

  test('has all rows since the last one, so many in one request, and is not made without any', async () => {
    const { engine, reports, reporter } = scene();
    await reporter.report();
    for (let at = 0; at < 1100; at += 1) {
      engine.note({ ...unknown, source: `10.0.${at >> 8}.${at & 255}` }, minute);
    }
    await reporter.report();
    expect(reports.map(({ length }) => length)).toEqual([500, 500, 100]);
    await reporter.report();
    expect(reports).toHaveLength(3);
  });

  test('without a response is repeated as it was, except to a control plane that will never accept it', async () => {
    const { engine, reports, seqs, errors, reporter } = scene();
    engine.note(unknown, minute);
    errors.push(new ControlError('away'));
    await reporter.report();
    engine.note(unknown, minute);
    await reporter.report();
    const once = [{ ...unknown, at: minute, count: 1 }];
    expect(reports).toEqual([once, once]);
    expect(seqs).toEqual([1, 1, 2]);
    engine.note(unknown, minute);
    errors.push(new ControlError('old', { status: 404 }));
    await reporter.report();
    await reporter.report();
    expect(reports).toHaveLength(2);
  });
});
