// How clients of each system speak IKE: their proposals, from the files of a profile or as the
// system has them built in. Written from the documents of the systems' makers and from logs of
// their clients, never from our own table: a wrong name in a profile fails here.
import type { Words } from '../agent/test/vpn_scene.ts';
import type { VpnService } from '../kit/src/vpn_password.ts';
import type { ProfileFile } from '../server/src/vpn_profiles/files.ts';

export interface Speaker extends Words {
  name: string;
  service: VpnService;
}

/**
 * Apple's documentation: VPN.IKEv2.IKESecurityAssociationParameters; the numbers of groups are
 * IANA's.
 */
const apple = {
  encryption: {
    'AES-128': 'aes128',
    'AES-256': 'aes256',
    'AES-128-GCM': 'aes128gcm16',
    'AES-256-GCM': 'aes256gcm16',
  },
  integrity: { 'SHA2-256': 'sha256', 'SHA2-384': 'sha384', 'SHA2-512': 'sha512' },
  group: { 14: 'modp2048', 19: 'ecp256', 20: 'ecp384', 21: 'ecp521', 31: 'curve25519' },
};

/** Microsoft's documentation: Set-VpnConnectionIPsecConfiguration. */
const windows = {
  cipher: {
    AES128: 'aes128',
    AES256: 'aes256',
    GCMAES128: 'aes128gcm16',
    GCMAES256: 'aes256gcm16',
  },
  integrity: { SHA1: 'sha1', SHA256: 'sha256', SHA384: 'sha384' },
  authentication: { SHA196: 'sha1', SHA256128: 'sha256' },
  dhGroup: { Group14: 'modp2048', ECP256: 'ecp256', ECP384: 'ecp384' },
  pfsGroup: { None: undefined, PFS2048: 'modp2048', ECP256: 'ecp256', ECP384: 'ecp384' },
};

/** The word of a table. Errors: the system has none such. */
function wordOf<T>(table: Record<string, T>, name: unknown): T {
  const key = String(name);
  if (!(key in table)) throw new Error(`the system does not know ${key}`);
  return table[key] as T;
}

const isAead = (encryption: string) => encryption.includes('gcm');

/** A cipher that authenticates by itself takes the hash for the derivation of keys alone. */
function ikeOf(encryption: string, integrity: string, group: string): string {
  return [encryption, isAead(encryption) ? `prf${integrity}` : integrity, group].join('-');
}

function espOf(encryption: string, integrity: string, group: string | undefined): string {
  const parts = [encryption, isAead(encryption) ? undefined : integrity, group];
  return parts.filter((part) => part !== undefined).join('-');
}

/** The value of a property list: dictionaries, arrays, texts, numbers and booleans. */
function readPropertyList(xml: string): unknown {
  const element = /<(\/?)(dict|array|key|string|data|integer|true|false)(\/?)>(?:([^<]*)<\/\2>)?/g;
  const elements = xml.matchAll(element);
  const read = (): { isEnd: boolean; value: unknown } => {
    const [, end, kind, isEmpty, content = ''] = elements.next().value ?? ['', '/'];
    const items: unknown[] = [];
    if (!end && !isEmpty && (kind === 'dict' || kind === 'array')) {
      for (let item = read(); !item.isEnd; item = read()) items.push(item.value);
    }
    const pairs = () =>
      items.flatMap((key, n) => (n % 2 === 0 ? [[String(key), items[n + 1]] as const] : []));
    const values: Record<string, () => unknown> = {
      dict: () => Object.fromEntries(pairs()),
      array: () => items,
      integer: () => Number(content),
      true: () => true,
      false: () => false,
    };
    return { isEnd: Boolean(end), value: (values[kind ?? ''] ?? (() => content))() };
  };
  return read().value;
}

/**
 * The words of a client that has taken the file for one server with vpn-ikev2. Errors: it would not
 * take it.
 */
export const wordsOf: Record<ProfileFile['format'], (content: string) => Words> = {
  apple: (content) => {
    type Parameters = Record<
      'EncryptionAlgorithm' | 'IntegrityAlgorithm' | 'DiffieHellmanGroup',
      unknown
    >;
    interface Ikev2 {
      IKESecurityAssociationParameters: Parameters;
      ChildSecurityAssociationParameters: Parameters;
      EnablePFS?: number;
    }
    const { PayloadContent } = readPropertyList(content) as { PayloadContent: [{ IKEv2: Ikev2 }] };
    const ikev2 = PayloadContent[0].IKEv2;
    const read = ({ EncryptionAlgorithm, IntegrityAlgorithm, DiffieHellmanGroup }: Parameters) =>
      [
        wordOf(apple.encryption, EncryptionAlgorithm),
        wordOf(apple.integrity, IntegrityAlgorithm),
        wordOf(apple.group, DiffieHellmanGroup),
      ] as const;
    const [encryption, integrity, group] = read(ikev2.ChildSecurityAssociationParameters);
    return {
      ike: [ikeOf(...read(ikev2.IKESecurityAssociationParameters))],
      esp: [espOf(encryption, integrity, ikev2.EnablePFS === 1 ? group : undefined)],
    };
  },
  windows: (content) => {
    const [line = ''] = /^Set-VpnConnectionIPsecConfiguration .*$/m.exec(content) ?? [];
    const of = new Map(
      Array.from(line.matchAll(/-(\w+) (\w+)/g), ([, key, value]) => [key, value]),
    );
    const cipher = wordOf(windows.cipher, of.get('CipherTransformConstants'));
    // A cipher that authenticates by itself stands in both places.
    const authentication = isAead(cipher)
      ? wordOf(windows.cipher, of.get('AuthenticationTransformConstants'))
      : wordOf(windows.authentication, of.get('AuthenticationTransformConstants'));
    if (isAead(cipher) && authentication !== cipher) throw new Error('Windows takes no such pair');
    return {
      ike: [
        ikeOf(
          wordOf(windows.cipher, of.get('EncryptionMethod')),
          wordOf(windows.integrity, of.get('IntegrityCheckMethod')),
          wordOf(windows.dhGroup, of.get('DHGroup')),
        ),
      ],
      esp: [espOf(cipher, authentication, wordOf(windows.pfsGroup, of.get('PfsGroup')))],
    };
  },
  android: (content) => {
    const profile = JSON.parse(content) as Record<'ike-proposal' | 'esp-proposal', string>;
    const { 'ike-proposal': ike, 'esp-proposal': esp } = profile;
    return { ike: ike ? [ike] : androidOwn.ike, esp: esp ? [esp] : androidOwn.esp };
  },
  networkmanager: (content) => {
    const [, data = ''] = /vpn\.data '([^']*)'/.exec(content) ?? [];
    const of = new Map(data.split(', ').map((pair) => pair.split(' = ') as [string, string]));
    if (of.get('proposal') !== 'yes') throw new Error('it has proposals of its own');
    return { ike: [of.get('ike') ?? ''], esp: [of.get('esp') ?? ''] };
  },
  strongswan: (content) => {
    const read = (key: string) => new RegExp(`^ +${key} = (.*)$`, 'm').exec(content)?.[1] ?? '';
    return { ike: read('proposals').split(','), esp: read('esp_proposals').split(',') };
  },
};

/** strongSwan's app, for profiles without proposals (its `android_service.c`). */
const groups = 'curve25519-ecp384-ecp521-modp3072-modp4096-ecp256';
const androidOwn: Words = {
  ike: [
    `aes128-aes192-aes256-sha256-sha384-sha512-sha1-${groups}-modp2048`,
    `aes128gcm16-aes192gcm16-aes256gcm16-chacha20poly1305-prfsha256-prfsha384-prfsha512-prfsha1-${groups}-modp2048`,
  ],
  esp: [
    `aes256gcm16-aes128gcm16-chacha20poly1305-${groups}-modp8192`,
    `aes256-aes192-aes128-sha384-sha256-sha512-sha1-${groups}-modp2048-modp8192`,
    'aes256gcm16-aes128gcm16-chacha20poly1305',
    'aes256-aes192-aes128-sha384-sha256-sha512-sha1',
  ],
};

/** Main mode of racoon, by which Apple's systems speak IKEv1. */
const racoon = ['sha256', 'sha1', 'md5', 'sha512']
  .map((hash) => `aes256-${hash}-modp2048`)
  .concat(
    'aes256-sha256-modp1536',
    'aes256-sha1-modp1024',
    'aes128-sha1-modp1024',
    '3des-sha1-modp1024',
  );
const olderEsp = ['aes256-sha1', 'aes128-sha1', '3des-sha1'];

/** Those that systems have built in, without a file of ours or where the file has no say. */
export const builtIn: Speaker[] = [
  { name: "strongSwan's app, typed", service: 'vpn-ikev2', ...androidOwn },
  {
    name: 'a phone, typed, without forward secrecy',
    service: 'vpn-ikev2',
    ike: ['aes256gcm16-prfsha256-ecp256', 'aes256-sha256-ecp256', 'aes256-sha256-modp2048'],
    esp: ['aes256gcm16', 'aes256-sha256'],
  },
  {
    name: 'Linux, with an older group',
    service: 'vpn-ikev2',
    ike: ['aes256-sha256-modp2048'],
    esp: ['aes256-sha256-modp2048'],
  },
  {
    name: 'IKEv1 of Linux, with forward secrecy',
    service: 'vpn-ikev1',
    ike: ['aes256-sha256-modp2048'],
    esp: ['aes256-sha256-modp2048'],
  },
  {
    name: 'IKEv1 of Linux, without',
    service: 'vpn-ikev1',
    ike: ['aes256-sha256-modp2048'],
    esp: ['aes256-sha256'],
  },
  { name: 'IKEv1 of Apple', service: 'vpn-ikev1', ike: racoon, esp: olderEsp },
  {
    name: 'L2TP of Windows',
    service: 'vpn-l2tp',
    ike: ['aes256-sha1-ecp384', 'aes128-sha1-ecp256', 'aes256-sha1-modp2048', '3des-sha1-modp2048'],
    esp: olderEsp,
  },
  { name: 'L2TP of Apple', service: 'vpn-l2tp', ike: racoon, esp: olderEsp },
  {
    name: 'L2TP of NetworkManager',
    service: 'vpn-l2tp',
    ike: [
      'aes256-sha256-modp2048',
      'aes256-sha1-modp2048',
      'aes256-sha1-ecp384',
      'aes128-sha1-ecp256',
    ],
    esp: olderEsp,
  },
];
