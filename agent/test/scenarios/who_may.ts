// The clients that are let in, with their credentials, and the responses to others.
import { describe, expect, test } from 'vitest';
import type { UserLimits } from '../../../kit/src/node_interface.ts';
import type { Reason } from '../../src/policy/denials.ts';
import type { NodeRecord } from '../../src/policy/records.ts';
import type { Refusal } from '../../src/policy/refusals.ts';
import * as t from '../proxy_world.ts';
import { at, authlistOf } from './family.ts';
import type { Scene } from './scene.ts';

export function whoMay(s: Scene): void {
  const f = s.family;
  describe('who may', () => {
    test('an address on the authlist is let in', async () => {
      for (const answer of await s.askBoth(s.normal)) expect(answer.status).toBe(200);
    });

    test('a token lets in from any address, and nothing is remembered of it', async () => {
      for (const answer of await s.askBoth(s.tokened(1))) expect(answer.status).toBe(200);
      await s.expectRefusal({ ...s.normal, from: f.sources[2] }, 'unknown_address');
    });

    test('an authlist entry is used by what it lets in, and by nothing else', async () => {
      const { engine } = s.node;
      await engine.takeLastUsed();
      for (const answer of await s.askBoth(s.tokened(2))) expect(answer.status).toBe(200);
      const refused = await t.ask(
        { ...s.normal, from: f.sources[1] },
        'GET',
        `http://${at(f.privateIp)}/`,
      );
      expect(refused.status).toBe(403);
      const explained = await engine.explain({
        kind: 'request',
        ...{ source: f.sources[1], port: f.normalPort, method: 'GET', host: f.originIp },
        ...{ destination_port: s.origin.port, credentials: undefined },
      });
      expect(explained.decision.verdict).toBe('allow');
      expect(await engine.takeLastUsed()).toEqual([]);

      const minute = () => t.now() - (t.now() % 60);
      const begin = minute();
      for (const answer of await s.askBoth(s.normal)) expect(answer.status).toBe(200);
      const uses = await engine.takeLastUsed();
      expect(uses).toEqual([{ account: 1, entry: f.entry, at: expect.any(Number) }]);
      expect([begin, minute()]).toContain(uses[0]?.at);
      expect(await engine.takeLastUsed()).toEqual([]);
    });

    test('a TLS port takes both kinds of requests', async () => {
      const through = {
        ...s.normal,
        port: t.tlsBase + f.port_base,
        proxy_certificate: s.node.certificate,
      };
      for (const answer of await s.askBoth(through)) expect(answer.status).toBe(200);
    });

    const limited = (limits: UserLimits) => t.userRecord(1, { limits });
    const refusals: Array<[Reason, NodeRecord[], () => t.Through]> = [
      ['unknown_address', [authlistOf(f, 1, null)], () => s.normal],
      ['bad_token', [], () => ({ ...s.normal, authorization: t.basic('ewt_no.token') })],
      ['bad_token', [], () => ({ ...s.normal, authorization: t.basic(t.tokenOf(1), 'bob') })],
      ['expired_token', [], () => s.tokened(1, { expiry: t.now() - 1 })],
      ['old_token_version', [t.userRecord(1, { token_version: 2 })], () => s.tokened(1)],
      ['inactive_user', [t.userRecord(1, { active: false })], () => s.normal],
      ['no_proxy_flag', [t.userRecord(1, { proxy: false })], () => s.normal],
      [
        'server_not_on_contract',
        [{ kind: 'account', account: 1, value: null }],
        () => s.tokened(1),
      ],
      ['wrong_port', [], () => ({ ...s.tokened(1), port: t.otherBase + f.port_base })],
      ['contract_expired', [t.contractRecord(1, { expiry: t.now() - 1 })], () => s.normal],
      ['contract_suspended', [t.contractRecord(1, { suspended: true })], () => s.normal],
      ['over_limit', [t.contractRecord(1, { blocked: true })], () => s.normal],
      ['user_expired', [limited({ until: t.now() - 1 })], () => s.normal],
      ['not_for_user', [limited({ not_here: true })], () => s.tokened(1)],
      ['not_for_user', [limited({ services: ['vpn-ikev2'] })], () => s.normal],
      ['user_limit_reached', [limited({ over: true })], () => s.normal],
    ];
    test.each(refusals)(
      '%s is answered with its status and in words',
      async (reason, records, through) => {
        await s.having(records, () => s.expectRefusal(through(), reason));
        expect((await t.ask(s.normal, 'GET', s.url)).status).toBe(200);
      },
    );

    test('a user has as many connections at once as the limit says, and another when one has ended', async () => {
      await s.having([limited({ connections: 2 })], async () => {
        const first = await t.openTunnel(s.normal, s.to);
        const second = await t.openTunnel(s.tokened(1), s.to);
        await s.expectRefusal(s.normal, 'too_many_connections');
        // Other users are not affected, and open connections continue.
        for (const answer of await s.askBoth(s.tokened(1, { user: 2 })))
          expect(answer.status).toBe(200);
        expect(t.read(await second.ask(t.requestText('GET', '/'))).url).toBe('/');
        first.socket.destroy();
        await t.until(async () => (await t.ask(s.normal, 'GET', s.url)).status === 200);
        // The user has a connection elsewhere, which came first.
        const { engine } = s.node;
        const elsewhere = { account: 1, user: 1, connections: 1, ahead: 1, networks: [] };
        engine.share([elsewhere]);
        await t.until(async () => (await t.ask(s.normal, 'GET', s.url)).status === 429);
        engine.share([{ ...elsewhere, connections: 2, ahead: 2 }]);
        await second.ended();
        engine.share([]);
        await t.until(async () => (await t.ask(s.normal, 'GET', s.url)).status === 200);
      });
    });

    // Loopback has further addresses only in IPv4.
    if (f.name === 'IPv4') {
      test('a client that uses one port for two addresses of the node passes no limit, and hides no connection', async () => {
        await s.having([limited({ connections: 1 })], async () => {
          const first = await t.openTunnel(s.normal, s.to);
          const { localPort: local_port = 0 } = first.socket;
          const statusAt = async (at: string, authorization?: string) => {
            const elsewhere = { ...s.normal, at, local_port };
            const client = await t.Client.open(elsewhere);
            const answer = await client.ask(t.requestText('CONNECT', s.to, { authorization }));
            client.socket.destroy();
            return answer.status;
          };
          expect(await statusAt('127.0.0.2')).toBe(429);
          // From another user, without a limit.
          await statusAt('127.0.0.3', s.tokened(2).authorization);
          await s.node.apply(t.userRecord(1, { active: false }));
          await first.ended();
        });
      });
    }

    test('a refusal is held by the minute, with the user that is identified, and without where it was going', async () => {
      const { engine } = s.node;
      const held: Refusal[] = [];
      await s.expectRefusal({ ...s.normal, from: f.sources[2] }, 'unknown_address');
      await s.expectRefusal(s.tokened(1, { expiry: t.now() - 1 }), 'expired_token');
      const of = { source: f.sources[2], service: 'proxy', port: f.normalPort };
      const counted = { at: expect.any(Number), count: expect.any(Number) };
      await t.until(() => {
        held.push(...engine.takeRefusals());
        return held.some(({ reason }) => reason === 'expired_token');
      });
      expect(held).toContainEqual({ ...of, ...counted, reason: 'unknown_address' });
      const names = { account: 1, user: 1 };
      expect(held).toContainEqual({ ...of, ...counted, reason: 'expired_token', ...names });
    });

    test.each(['Basic', 'Basic !!', 'Basic YWxpY2U=', 'Bearer x', 'x'])(
      'credentials that cannot be read are none that hold, also from a known address: %j',
      (authorization) => s.expectRefusal({ ...s.normal, authorization }, 'bad_token'),
    );

    test('explain evaluates the same policy', async () => {
      const question = { source: f.sources[0], port: f.normalPort, method: 'CONNECT' };
      const request = { ...question, host: f.originIp, destination_port: 443 };
      const { decision, position } = await s.node.engine.explain({
        kind: 'request',
        ...request,
        credentials: undefined,
      });
      expect(decision).toMatchObject({ verdict: 'allow', exit_ip: f.exits[0] });
      expect(position.epoch).toBe('e1');
    });
  });

  test.each(['-', '', ' '])(
    'credentials that are no more than %j do not count as none',
    async (authorization) => {
      await s.expectRefusal({ ...s.normal, authorization }, 'bad_token');
    },
  );
}
