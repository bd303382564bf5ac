// The identity of this node: joining with a one-time code, and the file that stores the token.

import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { makeFolderDurably } from '../../kit/src/durable.ts';
import { OpenToOthers, readPrivate } from '../../kit/src/private_files.ts';
import { quoted } from '../../kit/src/quoted.ts';
import { systemClock } from './clock.ts';
import { ControlError } from './control_error.ts';
import { joinControl } from './link/control.ts';
import { syncFolder } from './store/generations.ts';
import { Journal } from './usage/journal.ts';
import { version } from './version.ts';

export interface Identity {
  /** Of the node interface, without `/node`. */
  url: string;
  node: number;
  server: string;
  token: string;
}

export interface Joining {
  state_dir: string;
  url: string;
  code: string;
  /** The name that the operator sees. */
  name: string;
  /** Replace the existing identity. */
  again: boolean;
}

/** The identity that a machine gets by joining. */
export interface Joined extends Identity {
  /** The unsent usage of the previous identity; missing if there was none. */
  usage_left?: UsageLeft;
}

export interface UsageLeft {
  /** Where it was put; it will not be sent. */
  path: string;
  /** The bytes that its control plane had not acknowledged; null if the journal is damaged. */
  bytes: number | null;
}

const fileName = 'node.json';

/** Where the policy of this identity is stored. */
export const policyFolder = (state_dir: string) => join(state_dir, 'policy');

/** Where the usage of this identity is stored. */
export const journalPath = (state_dir: string) => join(state_dir, 'usage.journal');

/** Joins the network and stores the identity. Errors: one sentence. */
export async function joinNetwork(joining: Joining): Promise<Joined> {
  const { state_dir, code, name, again } = joining;
  const url = checkUrl(joining.url);
  const path = join(state_dir, fileName);
  if (existsSync(path) && !again) {
    const { server } = readIdentity(state_dir);
    throw new Error(
      `${state_dir} has joined already, as a node of ${server}; add --again to join once more, or set EXITWARD_AGENT_STATE_DIR.`,
    );
  }
  // A code works once, so first make sure that the new identity can be stored.
  const file = await createPrivate(state_dir, path);
  try {
    const joined = await joinControl(url, { code, name, version }).catch((error) => {
      throw joinFault(url, error);
    });
    const identity = { url, ...joined };
    await file.handle.writeFile(`${JSON.stringify(identity, null, 2)}\n`);
    await file.handle.sync();
    // The policy may be another server's, with a history of the same epoch.
    await rm(policyFolder(state_dir), { recursive: true, force: true });
    const usage_left = await leaveUsage(state_dir);
    await rename(file.path, path);
    await syncFolder(state_dir);
    return { ...identity, ...(usage_left ? { usage_left } : {}) };
  } catch (error) {
    await rm(file.path, { force: true });
    throw error;
  } finally {
    await file.handle.close();
  }
}

/**
 * Moves the journal of the old identity aside: batches are identified by their node. Sent as
 * another node, usage that was already accepted would count twice, or for another server.
 */
async function leaveUsage(state_dir: string): Promise<UsageLeft | undefined> {
  const path = journalPath(state_dir);
  if (!existsSync(path)) return undefined;
  const asidePath = `${path}.${nodeOf(state_dir)}-${systemClock.now()}.left`;
  const log = pino({ level: 'silent' });
  const journal = await Journal.open(path, { log }).catch(() => undefined);
  if (!journal) {
    await rename(path, asidePath);
    return { path: asidePath, bytes: null };
  }
  const bytes = journal.pending().reduce((sum, { up, down }) => sum + up + down, 0);
  await journal.leave(asidePath).finally(() => journal.close());
  return { path: asidePath, bytes };
}

function nodeOf(state_dir: string): number | 'unknown' {
  try {
    return readIdentity(state_dir).node;
  } catch {
    return 'unknown';
  }
}

/** Whether there is an identity file, whatever its content, even if this user may not read it. */
export function isJoined(state_dir: string): boolean {
  try {
    statSync(join(state_dir, fileName));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code !== 'ENOENT' && code !== 'ENOTDIR';
  }
}

/** The identity stored by joining. Errors: one sentence. */
export function readIdentity(state_dir: string): Identity {
  const path = join(state_dir, fileName);
  let text: string;
  try {
    text = readPrivate(path);
  } catch (error) {
    if (error instanceof OpenToOthers) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw new Error(`${path} cannot be read (${code}).`);
    throw new Error(
      `This machine has not joined a network: there is no ${path}. Run exitward-agent join, or set EXITWARD_AGENT_STATE_DIR.`,
    );
  }
  try {
    const { url, node, server, token } = JSON.parse(text) as Partial<Identity>;
    if (url && node && server && token) return { url, node, server, token };
  } catch {
    // Text that is not JSON is not an identity.
  }
  throw new Error(`${path} is damaged; join again with a new code and --again.`);
}

/** The URL in canonical spelling. Errors: one sentence, also if the token would go unencrypted. */
export function checkUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) {
    throw new Error(
      `url: ${quoted(text)} is not valid; expected the control plane's, such as https://exitward.example.`,
    );
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new Error(
      `url: ${text} would send the node's token unencrypted; expected https, or an address of this machine.`,
    );
  }
  return url.href.replace(/\/+$/, '').replace(/\/node$/, '');
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname === '[::1]' ||
    (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}

function joinFault(url: string, error: unknown): Error {
  if (!(error instanceof ControlError)) return error as Error;
  const { status, isOurs, message } = error;
  if (isOurs) return new Error(message);
  const expected = 'expected the URL that the control plane serves nodes on';
  if (status !== undefined) return new Error(`url: ${url} answered ${status}; ${expected}.`);
  return new Error(`url: ${url} cannot be used: ${message}; ${expected}.`);
}

/**
 * A new file next to the one that it will replace, in a folder that only this user may read.
 * Errors: one sentence.
 */
async function createPrivate(state_dir: string, path: string) {
  const temporary = `${path}.${randomUUID()}`;
  try {
    makeFolderDurably(state_dir);
    return { path: temporary, handle: await open(temporary, 'wx', 0o600) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${state_dir} cannot be written (${code}); set EXITWARD_AGENT_STATE_DIR.`);
  }
}
