// The RADIUS server of a node by itself, with a policy of many accounts: prints its port, and at
// the end of its input the processor time that it took, in microseconds.
import { once } from 'node:events';
import pino from 'pino';
import { systemClock } from '../agent/src/clock.ts';
import { decideLogin } from '../agent/src/policy/logins.ts';
import { RadiusServer } from '../agent/src/vpn/radius_server.ts';
import { exitIp, policyOf, rules, secret } from './vpn_scene.ts';

const policy = policyOf(Number(process.argv[2]));
const server = new RadiusServer({
  secret,
  dns: [],
  clock: systemClock,
  log: pino({ level: 'silent' }),
  evaluate: async ({ login, proves, password }) => {
    const what = { kind: 'login' as const, service: 'vpn-ikev2', exit_ip: exitIp };
    const request = { ...what, login, proves, password };
    const decision = decideLogin(policy, rules, request, systemClock.now());
    return decision.verdict === 'allow'
      ? { allowed: true, address: '100.80.0.1' }
      : { allowed: false, message: decision.reason };
  },
});
console.log(await server.listen(0));
const before = process.cpuUsage();
process.stdin.resume();
await once(process.stdin, 'end');
const { user, system } = process.cpuUsage(before);
console.log(user + system);
process.exit(0);
