// The files of a VPN profile, as foreign programs read them: swanctl really connects, and a parser of property lists finds what Apple asks for.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../agent/test/proxy_world.ts';
import { exits, hostname, passwordOf, VpnWorld } from '../agent/test/vpn_world.ts';
import { profileFiles } from '../server/src/vpn_profiles/files.ts';

const world = new VpnWorld();
beforeAll(() => world.start(1), 60_000);
afterAll(() => world.stop());

const values = {
  server: 'fra1',
  hostname,
  login: 'alice@contract1',
  password: passwordOf(1),
};
const content = (format: string) =>
  profileFiles(values, exits[1]).find((one) => one.format === format)?.content ?? '';

test('swanctl connects by the profile for strongSwan, and leaves from its exit', async () => {
  // Its tunnels are known when charon has its connections.
  await until(
    async () => (await world.node.ask<{ tunnels?: number }>({ do: 'counts' })).tunnels === 0,
  );
  const folder = join(world.dir, 'swanctl');
  for (const name of ['conf.d', 'x509', 'x509ca', 'private'])
    mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'swanctl.conf'), content('strongswan'));
  writeFileSync(join(folder, 'x509ca', 'ca.pem'), world.certificate);
  const swanctl = (...args: string[]) => world.client(1).swanctl(folder, ...args);
  swanctl('--load-all');
  swanctl('--initiate', '--child', 'exitward');
  expect(world.client(1).fetch({ down: 1000 })).toEqual({ from: exits[1], down: 1000 });
});

test('the profile for Apple is a property list with all that IKEv2 needs', () => {
  const program =
    'import json,plistlib,sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))';
  const read = () => {
    const text = execFileSync('python3', ['-c', program], {
      input: content('apple'),
      encoding: 'utf8',
    });
    return JSON.parse(text) as {
      PayloadUUID: string;
      PayloadContent: Array<Record<string, unknown>>;
    };
  };
  const profile = read();
  expect(profile).toEqual(read());
  expect(profile.PayloadUUID).toMatch(/^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/);
  expect(profile.PayloadContent).toMatchObject([
    {
      PayloadType: 'com.apple.vpn.managed',
      VPNType: 'IKEv2',
      IKEv2: {
        RemoteAddress: exits[1],
        RemoteIdentifier: hostname,
        ExtendedAuthEnabled: 1,
        AuthName: values.login,
        AuthPassword: values.password,
        IKESecurityAssociationParameters: {
          EncryptionAlgorithm: 'AES-256-GCM',
          DiffieHellmanGroup: 20,
        },
        ChildSecurityAssociationParameters: { EncryptionAlgorithm: 'AES-256-GCM' },
      },
    },
  ]);
});

test('the script for NetworkManager is one that a shell takes, whatever the names are', () => {
  const odd = profileFiles({ ...values, server: `it's "x" $(id)`, login: `a'b@c` }, exits[0]);
  const script = odd.find(({ format }) => format === 'networkmanager')?.content ?? '';
  const stub = `nmcli() { for one in "$@"; do printf '%s\\n' "$one"; done; }\n${script.replace('exec nmcli', 'nmcli')}`;
  const told = execFileSync('sh', ['-c', stub], { encoding: 'utf8' }).split('\n');
  expect(told).toContain(`it's "x" $(id)`);
  expect(told.find((line) => line.startsWith('address = '))).toContain(`user = a'b@c`);
});
