// Cases of what the command lines have in common: values, tables, and command lines that are not
// understood.

/**
 * Bytes as people read them: three digits that matter, in decimal units. The console shows them so,
 * too.
 */
export const bytesInWords: Array<[number, string]> = [
  [0, '0 B'],
  [1, '1 B'],
  [999, '999 B'],
  [1000, '1 kB'],
  [1005, '1.01 kB'],
  [1250, '1.25 kB'],
  [9960, '9.96 kB'],
  [9995, '10 kB'],
  [99_960, '100 kB'],
  [999_499, '999 kB'],
  [999_500, '1 MB'],
  [999_999, '1 MB'],
  [1_000_000, '1 MB'],
  [21_144_505_109, '21.1 GB'],
  [999_999_999_999, '1 TB'],
  [1_250_000_000_000, '1.25 TB'],
  [Number.MAX_SAFE_INTEGER, '9.01 PB'],
];

/** Epoch seconds as people read them. */
export const timesInWords: Array<[number, string]> = [
  [0, '-'],
  [1_800_000_000, '2027-01-15 08:00Z'],
  [1_800_000_059, '2027-01-15 08:00Z'],
  [253_402_300_799, '9999-12-31 23:59Z'],
  [9e15, '9000000000000000'],
];

/** Records as people read them, and as lines for pipes. */
export const records: Array<{ record: Record<string, string>; people: string; pipe: string }> = [
  {
    record: { name: 'Zürich', 'longer title': 'x' },
    people: 'name          Zürich\nlonger title  x\n',
    pipe: 'name\tZürich\nlonger title\tx\n',
  },
  { record: { 𝒳: 'a', ab: 'b' }, people: '𝒳   a\nab  b\n', pipe: '𝒳\ta\nab\tb\n' },
  { record: { empty: '' }, people: 'empty  -\n', pipe: 'empty\t\n' },
  {
    record: { text: 'a\x1b[2J\tb\nc\x9b' },
    people: 'text  a\\x1b[2J\\x09b\\x0ac\\x9b\n',
    pipe: 'text\ta\\x1b[2J\\x09b\\x0ac\\x9b\n',
  },
  {
    record: { text: 'paid\u202e1\u2066\u2069\u200e\u200f\u061c\u2028x\u200b' },
    people: 'text  paid\\u202e1\\u2066\\u2069\\u200e\\u200f\\u061c\\u2028x\u200b\n',
    pipe: 'text\tpaid\\u202e1\\u2066\\u2069\\u200e\\u200f\\u061c\\u2028x\u200b\n',
  },
];

/**
 * Text of others that would clear the screen, turn the direction of what follows, or pass for a
 * second line.
 */
export const hostileText = 'no\x1b[2J\x7f\x9b2J\u202e\u2067\nexitward: done';
export const hostileTextShown = 'no\\x1b[2J\\x7f\\x9b2J\\u202e\\u2067\\x0aexitward: done';
/** The characters that no terminal may be sent, except the ends of lines. */
export const steering = /[^\P{Cc}\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

export const moment = Date.UTC(2028, 0, 31, 12) / 1000;

/** Times as people write them at `moment`, which is 2028-01-31 12:00Z. */
export const times: Array<[string, string]> = [
  ['1800000000', '2027-01-15T08:00:00.000Z'],
  ['2027-01-31', '2027-01-31T00:00:00.000Z'],
  ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ['2027-01-31T12:30', '2027-01-31T12:30:00.000Z'],
  ['2027-01-31 12:30:05', '2027-01-31T12:30:05.000Z'],
  ['2027-01-31 12:00:00Z', '2027-01-31T12:00:00.000Z'],
  ['2027-01-31t12:30z', '2027-01-31T12:30:00.000Z'],
  ['2027-01-31T00:30+02:00', '2027-01-30T22:30:00.000Z'],
  ['+90s', '2028-01-31T12:01:30.000Z'],
  ['+5min', '2028-01-31T12:05:00.000Z'],
  // Never a month.
  ['+5m', '2028-01-31T12:05:00.000Z'],
  ['+12h', '2028-02-01T00:00:00.000Z'],
  ['+30d', '2028-03-01T12:00:00.000Z'],
  ['+2w', '2028-02-14T12:00:00.000Z'],
  ['+1mo', '2028-02-29T12:00:00.000Z'],
  ['+13mo', '2029-02-28T12:00:00.000Z'],
  ['+1y', '2029-01-31T12:00:00.000Z'],
];

export const wrongTimes = [
  ...['', 'tomorrow', '31.01.2027', '1.5', '1e9', '1234567890123'],
  ...[
    '2027-13-01',
    '2027-02-30',
    '2027-02-29T12:00Z',
    '2027-01-31T24:01',
    '2027-02-30x',
    '2027-02-30T00:00:00.5',
  ],
  ...['8h', '+8', '+8M', '+8mon', '+1x', '-30d', '+123456s'],
];

/** Addresses, and the one spelling of each. */
export const addresses: Array<[string, string]> = [
  ['203.0.113.7', '203.0.113.7'],
  ['0.0.0.0', '0.0.0.0'],
  ['2001:DB8:0:0::7', '2001:db8::7'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
  ['::', '::'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:CB00:7107', '203.0.113.7'],
  ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
  ['::203.0.113.7', '::cb00:7107'],
  ['64:ff9b::203.0.113.7', '64:ff9b::cb00:7107'],
];

export const wrongAddresses = [
  ...['', ' ', '203.0.113', '203.0.113.256', '0203.0.113.7', '0xcb.0.113.7', '3405803783'],
  ...['203.0.113.7/32', '203.0.113.7:80', ' 203.0.113.7', '[2001:db8::7]', '2001:db8::7::'],
  ...['fe80::1%eth0', '::ffff:203.0.113.256', 'localhost', 'example.com'],
];

/** Lists of networks, as the server and the agent read them in their settings. */
export const networks: Array<[string, string[]]> = [
  ['', []],
  ['  ', []],
  ['10.0.0.0/8', ['10.0.0.0/8']],
  [
    ' 10.0.0.0/8, 192.0.2.7 ,2001:DB8::/32,::1',
    ['10.0.0.0/8', '192.0.2.7/32', '2001:db8::/32', '::1/128'],
  ],
  ['0.0.0.0/0,::/0', ['0.0.0.0/0', '::/0']],
  ['10.0.0.128/25', ['10.0.0.128/25']],
];

/** Texts that are no network, and the reason of each. */
export const wrongNetworks: Array<[string, string]> = [
  ['10.0.0.1/8', '"10.0.0.1/8" is a host inside a network; expected 10.0.0.0/8 or 10.0.0.1'],
  [
    '2001:db8::1/32',
    '"2001:db8::1/32" is a host inside a network; expected 2001:db8::/32 or 2001:db8::1',
  ],
  ['192.0.2.7/0', '"192.0.2.7/0" is a host inside a network; expected 0.0.0.0/0 or 192.0.2.7'],
  ['10.0.0.0/33', '"10.0.0.0/33" is not a network; expected a prefix of at most 32 bits'],
  ['::/129', '"::/129" is not a network; expected a prefix of at most 128 bits'],
  ...[
    ...['10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0/8', '010.0.0.0/8', '10.0.0.0/08x'],
    ...['10.0.0.0 /8', '10.0.0.0/ 8', '/8', '*', '10.0.0.0-10.0.0.9', '10.0.0.0/8;'],
    ...['fe80::1%eth0/64', 'example.com', '::ffff:10.0.0.0/104', '::ffff:10.0.0.1'],
  ].map((part): [string, string] => [
    part,
    `${JSON.stringify(part)} is not a network; expected CIDR such as 10.0.0.0/8`,
  ]),
];

/** Command lines of exitward that are not understood, and the fault that is named. */
export const misunderstood: Array<[what: string, args: string[], says: string]> = [
  ['a command that there is not', ['nonsense'], "unknown command 'nonsense'"],
  ['a verb that there is not', ['account', 'nonsense'], "unknown command 'nonsense'"],
  ['a command that is nearly one', ['statsu'], "unknown command 'statsu'\n(Did you mean status?)"],
  [
    'an option that is nearly one',
    ['status', '--jsno'],
    "unknown option '--jsno'\n(Did you mean --json?)",
  ],
  ['an option that there is not', ['status', '--nonsense'], "unknown option '--nonsense'"],
  [
    'an option that there is not, with what may be a secret',
    ['status', "--nonsense=ewa_'secret"],
    "unknown option '--nonsense'",
  ],
  [
    'an option without its value',
    ['audit', '--limit'],
    "option '--limit <count>' argument missing",
  ],
  [
    'a value that begins with a dash',
    ['audit', '--search', '-x'],
    "option '--search' has a value that begins with a dash; write --search=VALUE",
  ],
  [
    'a required option that is missing',
    ['account', 'create', 'acme'],
    "required option '--plan <plan>' not specified",
  ],
  ['an argument that is missing', ['account', 'show'], "missing required argument 'account'"],
  [
    'one argument too many, which may be a secret',
    ['status', 'ewa_secret'],
    'too many arguments; expected none',
  ],
  [
    'one argument too many for a command that has one',
    ['account', 'show', 'acme', 'ewa_secret'],
    'too many arguments; expected <account>',
  ],
  [
    'a value of an option that cannot be read',
    ['audit', '--limit', 'x'],
    '--limit: expected a whole number of at least 1',
  ],
  [
    'a value that is none of those that there are',
    ['usage', '--by', 'x'],
    '--by: expected one of hour, day, server, user',
  ],
];
