// The table of commands: parsing, help and completion come from it.
import { contract, login, logout, servers, tokenCreate, users, whoami } from './account.ts';
import { authlistCommands } from './authlist.ts';
import type { Command } from './command.ts';
import { completion } from './completion.ts';
import { dnsCommands } from './dns.ts';
import { doctor } from './doctor.ts';
import { exits } from './exits.ts';
import { run } from './run.ts';
import { status } from './status.ts';
import { vpnCommands } from './vpn.ts';

/** The commands as help groups them. */
export const groups: Readonly<Record<string, readonly Command[]>> = {
  'Log in': [login, logout, whoami],
  'See the account': [status, contract, servers, exits, users],
  'Give access': [...authlistCommands, tokenCreate],
  'Custom DNS': dnsCommands,
  VPN: vpnCommands,
  'Go through the proxy': [run, doctor],
  'Your shell': [completion],
};

export const commands: readonly Command[] = Object.values(groups).flat();
