// The table of commands: parsing, help and completion come from it.
import { contract, login, logout, servers, tokenCreate, users, whoami } from './account.ts';
import { authlistCommands } from './authlist.ts';
import type { Command } from './command.ts';
import { completion } from './completion.ts';
import { dnsCommands } from './dns.ts';
import { exits } from './exits.ts';
import { run } from './run.ts';
import { vpnCommands } from './vpn.ts';

export const commands: readonly Command[] = [
  login,
  logout,
  whoami,
  contract,
  servers,
  exits,
  users,
  tokenCreate,
  ...authlistCommands,
  ...dnsCommands,
  ...vpnCommands,
  run,
  completion,
];
