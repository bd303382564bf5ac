// The stored login: a file of the user that no other user can read.
import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { Failure } from '../../../kit/src/cli/failures.ts';
import { OpenToOthers, readPrivate } from '../../../kit/src/private_files.ts';
import { writePrivate } from './written.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface StoredLogin {
  url: string;
  variant: string;
  token: string;
}

/** `$XDG_CONFIG_HOME/exitward/exw.json`; by its standard, a relative XDG_CONFIG_HOME is ignored. */
export function loginFile({ XDG_CONFIG_HOME = '' }: Environment): string {
  const base = isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(homedir(), '.config');
  return join(base, 'exitward', 'exw.json');
}

/** The stored login, if there is one. Errors: a failure when it cannot be read. */
export function readLogin(file: string): StoredLogin | undefined {
  let text: string;
  try {
    text = readPrivate(file);
  } catch (error) {
    if (error instanceof OpenToOthers) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new Failure(`${file} cannot be read (${code}).`);
  }
  try {
    const { url, variant, token } = JSON.parse(text) as Record<keyof StoredLogin, unknown>;
    if ([url, variant, token].every((value) => typeof value === 'string')) {
      return { url, variant, token } as StoredLogin;
    }
  } catch {
    // Invalid JSON fails like JSON without these fields.
  }
  throw new Failure(`${file} is not a valid login file. Log in again.`);
}

/** Writes it whole or not at all, even if the power fails. */
export function storeLogin(file: string, login: StoredLogin): void {
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // The folder may have existed, open to others.
  chmodSync(folder, 0o700);
  writePrivate(file, `${JSON.stringify(login, null, 2)}\n`);
}

/** Removes it; returns whether there was one. */
export function removeLogin(file: string): boolean {
  const wasThere = existsSync(file);
  rmSync(file, { force: true });
  return wasThere;
}
