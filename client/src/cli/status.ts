// exw status: the account on one screen.

import { Failure } from '../../../kit/src/cli/failures.ts';
import type { Column, Part } from '../../../kit/src/cli/output.ts';
import { span } from '../../../kit/src/cli/values.ts';
import { ExitwardError } from '../errors.ts';
import type { ContractServer } from '../openapi.ts';
import { command } from './command.ts';
import { ownAddress } from './own_address.ts';
import type { Account } from './session.ts';
import { now } from './values.ts';

const usualSoonSeconds = 86_400;
const endingsShown = 10;

const contractColumns: Column[] = [
  ['contract', 'name'],
  ['plan', 'plan'],
  ['ends', 'expiry', 'time'],
  ['used', 'period.usage', 'bytes'],
  ['of', 'period.limit', 'bytes'],
  ['share', 'share'],
  ['until', 'period.end', 'time'],
  ['this address', 'address'],
];
const endingColumns: Column[] = [
  ['ends soon', 'what'],
  ['id', 'id'],
  ['for', 'for'],
  ['expiry', 'expiry', 'time'],
];
const serverColumns: Column[] = [
  ['server', 'server'],
  ['health', 'health', 'state'],
  ['exit IPs', 'exits'],
  ['used', 'usage.current', 'bytes'],
  ['city', 'location.city'],
  ['country', 'location.country'],
];

export const status = command({
  name: 'status',
  list: 'once',
  summary: 'show on one screen how the account stands, and whether this address is listed',
  options: {
    soon: {
      summary: 'entries that end within this are shown; a day when left out',
      value: '<span>',
      read: span,
    },
  },
  run: async ({ options: { soon = usualSoonSeconds } }, session) => {
    const account = await session.account();
    const { client } = account;
    const [contract, servers, authlist, overrides, address] = await Promise.all([
      client.contract.get(),
      client.contract.servers.list({ detail: ['location', 'usage'] }),
      client.authlist.list(),
      client.overrides.list(),
      addressInWords(account),
    ]);
    const entries = [
      ...authlist.map(({ id, ip, user, expiry }) => ({ what: ip, id, for: user, expiry })),
      ...overrides.map(({ id, hostname, server, expiry }) => ({
        ...{ what: hostname, id, for: server, expiry },
      })),
    ];
    const endings = entries
      .filter(({ expiry }) => expiry > now() && expiry <= now() + soon)
      .sort((a, b) => a.expiry - b.expiry);
    const { usage, limit } = contract.period;
    const share = limit > 0 ? `${Math.round((usage / limit) * 100)} %` : '';
    const rows = servers.map((server) => ({
      ...server,
      health: healthOf(server),
      exits: server.ips.length,
    }));
    const shown = endings.slice(0, endingsShown);
    const parts: Part[] = [
      { record: { ...contract, share, address }, columns: contractColumns },
      ...(shown.length > 0 ? [{ rows: shown, columns: endingColumns }] : []),
      { rows, columns: serverColumns },
    ];
    const more = endings.length - shown.length;
    return {
      value: { contract, address, endings, servers: rows },
      parts,
      ...(more > 0
        ? { sentence: `${more} further entries end soon: exw authlist list, exw dns list.` }
        : {}),
    };
  },
});

/** The worst state of its exits, and how many are in it: `crit, 2 of 5`. */
function healthOf({ ips }: ContractServer): string {
  const states = ['crit', 'warn', 'unknown', 'ok'] as const;
  const worst = states.find((state) => ips.some((exit) => exit.status === state));
  if (worst === undefined) return '';
  const count = ips.filter((exit) => exit.status === worst).length;
  return count === ips.length ? worst : `${worst}, ${count} of ${ips.length}`;
}

/** `203.0.113.7, listed for alice`; for a read-only token the reason why it is unknown. */
async function addressInWords({ client }: Account): Promise<string> {
  try {
    const { ip, entry } = await ownAddress(client);
    return `${ip}, ${entry ? `listed for ${entry.user}` : 'not listed'}`;
  } catch (error) {
    if (error instanceof ExitwardError || error instanceof Failure)
      return `cannot be told: ${error.message}`;
    throw error;
  }
}
