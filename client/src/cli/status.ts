// exw status: the account on one screen.

import { Failure } from '../../../kit/src/cli/failures.ts';
import type { Column, Part } from '../../../kit/src/cli/output.ts';
import { span } from '../../../kit/src/cli/values.ts';
import { ExitwardError } from '../errors.ts';
import type { AuthlistEntry, ContractServer, ExitIp } from '../openapi.ts';
import { noServers } from './account.ts';
import { command } from './command.ts';
import { ownAddress } from './own_address.ts';
import type { Account } from './session.ts';
import { now } from './values.ts';

const defaultSoonSeconds = 86_400;
const endingsShown = 10;

const contractColumns: Column[] = [
  ['contract', 'name'],
  'plan',
  ['ends', 'expiry', 'time'],
  ['used', 'period.usage', 'bytes'],
  ['of', 'period.limit', 'bytes'],
  'share',
  ['until', 'period.end', 'day'],
  ['this address', 'address'],
];
const endingColumns: Column[] = [['ends soon', 'what'], 'id', 'for', ['expiry', 'expiry', 'time']];
const serverColumns: Column[] = [
  'server',
  ['health', 'health', 'state'],
  ['exit IPs', 'exits'],
  ['used', 'usage.current', 'bytes'],
  ['city', 'location.city'],
  ['country', 'location.country'],
];

export const status = command({
  name: 'status',
  list: 'once',
  summary: 'summarize the account, and show whether your address is listed',
  options: {
    soon: {
      summary: 'show entries that expire within this time (default: 24h)',
      value: '<span>',
      read: span,
    },
  },
  run: async ({ options: { soon = defaultSoonSeconds } }, session) => {
    const account = await session.account();
    const { client } = account;
    const [contract, servers, authlist, overrides, address] = await Promise.all([
      client.contract.get(),
      client.contract.servers.list({ detail: ['location', 'usage'] }),
      client.authlist.list(),
      client.overrides.list(),
      addressOf(account),
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
    const share = limit > 0 ? `${Math.round((usage / limit) * 100)}%` : '';
    const withHealth = servers.map((server) => ({
      ...server,
      health: worstOf(server),
      exits: server.ips.length,
    }));
    const rows = withHealth.map((server) => ({ ...server, health: healthInWords(server) }));
    const shown = endings.slice(0, endingsShown);
    const parts: Part[] = [
      {
        record: { ...contract, share, address: addressInWords(address) },
        columns: contractColumns,
      },
      ...(shown.length > 0 ? [{ rows: shown, columns: endingColumns, empty: undefined }] : []),
      { rows, columns: serverColumns, empty: noServers },
    ];
    const more = endings.length - shown.length;
    return {
      value: { contract, address, endings, servers: withHealth },
      parts,
      ...(more > 0
        ? { sentence: `${more} more entries end soon: exw authlist list, exw dns list.` }
        : {}),
    };
  },
});

/** The worst status of its exits; null without any. */
function worstOf({ ips }: ContractServer): ExitIp['status'] | null {
  const states = ['crit', 'warn', 'unknown', 'ok'] as const;
  return states.find((state) => ips.some((exit) => exit.status === state)) ?? null;
}

/** With how many exits have it: `crit, 2 of 5`. */
function healthInWords(server: ContractServer): string {
  const worst = worstOf(server);
  if (worst === null) return '';
  const { ips } = server;
  const count = ips.filter((exit) => exit.status === worst).length;
  return count === ips.length ? worst : `${worst}, ${count} of ${ips.length}`;
}

/** The address of this machine, with its entry on the authlist; or why they are unknown. */
type Address =
  | { ip: string; entry: AuthlistEntry | null; message: null }
  | { ip: null; entry: null; message: string };

/** The address of this machine; unknown for a read-only token. */
async function addressOf({ client }: Account): Promise<Address> {
  try {
    const { ip, entry } = await ownAddress(client);
    return { ip, entry: entry ?? null, message: null };
  } catch (error) {
    if (!(error instanceof ExitwardError || error instanceof Failure)) throw error;
    return { ip: null, entry: null, message: error.message };
  }
}

function addressInWords({ ip, entry, message }: Address): string {
  if (ip === null) return `unknown: ${message}`;
  return `${ip}, ${entry ? `listed for ${entry.user}` : 'not listed'}`;
}
