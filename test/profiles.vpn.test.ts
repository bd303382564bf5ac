// The files of a VPN profile, as foreign programs read them: swanctl really connects, nmcli and a
// parser of property lists find what they ask for.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../agent/test/proxy_world.ts';
import { exits, hostname, passwordOf } from '../agent/test/vpn_scene.ts';
import { VpnWorld } from '../agent/test/vpn_world.ts';
import {
  type ProfileFile,
  profileFiles,
  type ServerProfile,
} from '../server/src/vpn_profiles/files.ts';

const world = new VpnWorld();
beforeAll(() => world.start(1));
afterAll(() => world.stop());

const login = 'alice@contract1';
const fra1: ServerProfile = {
  server: 'fra1',
  services: ['vpn-ikev2'],
  hostname,
  exit_ip: exits[1],
  exit_ips: [...exits],
  password: passwordOf(1),
  shared_key: null,
};
/** Another server, at which the same login has another password. */
const ams1: ServerProfile = {
  ...fra1,
  server: 'ams.1',
  hostname: 'ams1.example.net',
  password: passwordOf(2),
};
const old1: ServerProfile = {
  ...fra1,
  server: 'old1',
  services: ['vpn-l2tp'],
  hostname: 'old1.example.net',
  shared_key: 'aaaaa-bbbbb-ccccc-ddddd',
};
const content = (format: ProfileFile['format'], ...servers: ServerProfile[]) =>
  profileFiles(login, servers).find((file) => file.format === format)?.content ?? '';

test.each([
  ['one server', [fra1]],
  ['this server ahead of another', [fra1, ams1]],
  ['this server behind another', [ams1, fra1]],
])('swanctl connects by the profile for %s, and leaves from its exit', async (_, servers) => {
  // Its tunnels are known when charon has its connections.
  await until(
    async () => (await world.node.ask<{ tunnels?: number }>({ do: 'counts' })).tunnels === 0,
  );
  const folder = join(world.dir, 'swanctl');
  for (const name of ['conf.d', 'x509', 'x509ca', 'private'])
    mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'swanctl.conf'), content('strongswan', ...servers));
  writeFileSync(join(folder, 'x509ca', 'ca.pem'), world.authority);
  const swanctl = (...args: string[]) => world.client(1).swanctl(folder, ...args);
  const loaded = swanctl('--load-all');
  expect(loaded).toContain(`successfully loaded ${servers.length} connections`);
  swanctl('--initiate', '--child', 'exitward-fra1');
  expect(world.client(1).fetch({ down: 1000 })).toEqual({ from: exits[1], down: 1000 });
  swanctl('--terminate', '--ike', 'exitward-fra1');
});

test('the profile for Apple is a property list with a payload for each server: IKEv2, or L2TP where it has only that', () => {
  const program = `import json,plistlib,sys
print(json.dumps(plistlib.loads(sys.stdin.buffer.read()), default=lambda data: data.decode()))`;
  const read = () => {
    const text = execFileSync('python3', ['-c', program], {
      input: content('apple', fra1, old1),
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
  const [first, second] = profile.PayloadContent;
  expect(first?.PayloadUUID).not.toBe(second?.PayloadUUID);
  expect(profile.PayloadContent).toMatchObject([
    {
      PayloadType: 'com.apple.vpn.managed',
      VPNType: 'IKEv2',
      IKEv2: {
        RemoteAddress: exits[1],
        RemoteIdentifier: hostname,
        ExtendedAuthEnabled: 1,
        AuthName: login,
        AuthPassword: fra1.password,
        IKESecurityAssociationParameters: {
          EncryptionAlgorithm: 'AES-256-GCM',
          DiffieHellmanGroup: 20,
        },
        ChildSecurityAssociationParameters: { EncryptionAlgorithm: 'AES-256-GCM' },
      },
    },
    {
      PayloadType: 'com.apple.vpn.managed',
      VPNType: 'L2TP',
      PPP: { CommRemoteAddress: exits[1], AuthName: login, AuthPassword: old1.password },
      IPSec: { AuthenticationMethod: 'SharedSecret', SharedSecret: old1.shared_key },
      IPv4: { OverridePrimary: 1 },
    },
  ]);
});

test('nmcli takes the script for NetworkManager, and makes a connection of each server', () => {
  const script = content('networkmanager', fra1, old1).replaceAll('nmcli', 'nmcli --offline');
  const keyfile = execFileSync('sh', { input: script, encoding: 'utf8' });
  const connections = keyfile.split('[connection]\n').slice(1);
  const linesOf = (text = '') => text.split('\n');
  expect(connections).toHaveLength(2);
  // It takes away what it added itself, and nothing else of the same name.
  const removed = Array.from(script.matchAll(/delete uuid (\S+)/g), ([, uuid]) => `uuid=${uuid}`);
  expect(linesOf(keyfile).filter((line) => line.startsWith('uuid='))).toEqual(removed);
  expect(new Set(removed).size).toBe(2);
  expect(linesOf(connections[0])).toEqual(
    expect.arrayContaining([
      'id=fra1',
      `address=${exits[1]}`,
      `remote-identity=${hostname}`,
      `user=${login}`,
      'password-flags=1',
      'service-type=org.freedesktop.NetworkManager.strongswan',
    ]),
  );
  expect(linesOf(connections[1])).toEqual(
    expect.arrayContaining([
      'id=old1',
      `gateway=${exits[1]}`,
      `user=${login}`,
      'password-flags=1',
      'machine-auth-type=psk',
      'service-type=org.freedesktop.NetworkManager.l2tp',
      '[vpn-secrets]',
      `ipsec-psk=${old1.shared_key}`,
    ]),
  );
});

test('the script for NetworkManager is one that a shell takes, whatever the names are', () => {
  const odd = profileFiles(`a'b@c`, [{ ...fra1, server: `it's "x" $(id)` }]);
  const script = odd.find(({ format }) => format === 'networkmanager')?.content ?? '';
  const stub = `nmcli() { for one in "$@"; do printf '%s\\n' "$one"; done; }\n${script}`;
  const output = execFileSync('sh', ['-c', stub], { encoding: 'utf8' }).split('\n');
  expect(output).toContain(`it's "x" $(id)`);
  expect(output.find((line) => line.startsWith('address = '))).toContain(`user = a'b@c`);
});
