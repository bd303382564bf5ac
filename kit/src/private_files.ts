// Private files: a secret is read only from a file that no other user can read, write or replace.
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

/** A file or folder that is open to others, with the command that fixes it. */
export class OpenToOthers extends Error {
  readonly remedy: string;

  constructor(problem: string, remedy: string, isCommand = true) {
    super(`${problem}: ${isCommand ? `run "${remedy}"` : remedy}.`);
    this.remedy = remedy;
  }
}

/**
 * The text of a file that only this user or root can read. A group may read root's files, which is
 * how service managers pass on secrets. `anyOwner`: root may read another user's file, but no other
 * file in a folder of that user, so that a link there leads nowhere. Files below `mounted`, the
 * secrets of a container, may be open to all: the container has no other user.
 * Errors: OpenToOthers, also for the folder; those of the disk.
 */
export function readPrivate(
  path: string,
  { anyOwner = false, mounted }: { anyOwner?: boolean; mounted?: string | undefined } = {},
): string {
  // The file that is checked is the one that is read, even if its name is replaced meanwhile.
  const handle = openSync(path, 'r');
  try {
    const user = process.getuid?.();
    if (user !== undefined) {
      const isTrusted = (uid: number) => uid === user || uid === 0 || (anyOwner && user === 0);
      const mayBeRead = mounted !== undefined && isBelow(mounted, path) ? 0o044 : 0;
      const stat = fstatSync(handle);
      checkFile(path, stat, user, isTrusted, mayBeRead);
      if (anyOwner && user === 0) checkFoldersAbove(path, stat);
      checkFolder(dirname(path), isTrusted);
      checkFolder(dirname(realpathSync(path)), isTrusted);
    }
    return readFileSync(handle, 'utf8');
  } finally {
    closeSync(handle);
  }
}

/**
 * Errors: OpenToOthers when another user can write a file, or replace what is in a folder or the
 * folder itself; those of the disk.
 */
export function requireUnwritable(path: string): void {
  const user = process.getuid?.();
  if (user === undefined) return;
  const isTrusted = (uid: number) => uid === user || uid === 0;
  const stat = statSync(path);
  if (stat.isDirectory()) checkFolder(path, isTrusted);
  else if (!isTrusted(stat.uid) || isOpen(stat)) {
    throw new OpenToOthers(
      `Other users can write ${path} (mode ${octal(stat.mode)})`,
      `chown ${user} ${shellWord(path)} && chmod go-w ${shellWord(path)}`,
    );
  }
  checkFolder(dirname(realpathSync(path)), isTrusted);
}

/**
 * Whether there is such a file or folder. Where this user may not look it does not say no, as
 * existsSync does. Errors: that of the disk, with its code, in words.
 */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw Object.assign(new Error(`${path} cannot be looked at (${code})`), { code });
  }
}

type Trusted = (uid: number) => boolean;

/**
 * A user whose folder is on the way to a file can have the path lead anywhere. So root takes no
 * other file there than one of that user.
 */
function checkFoldersAbove(path: string, { uid }: Stats): void {
  for (const start of [resolve(path), realpathSync(path)]) {
    for (let folder = dirname(start); folder !== dirname(folder); folder = dirname(folder)) {
      const { uid: owner } = statSync(folder);
      if (owner === 0 || owner === uid) continue;
      throw new OpenToOthers(
        `${folder} belongs to uid ${owner}, who can have ${path} lead to any file, and this one belongs to uid ${uid}`,
        'remove it, or name another file',
        false,
      );
    }
  }
}

/** A link is below a folder only if its target is. */
function isBelow(folder: string, path: string): boolean {
  return existsSync(folder) && realpathSync(path).startsWith(`${realpathSync(folder)}/`);
}

function checkFile(
  path: string,
  { uid, mode }: Stats,
  user: number,
  isTrusted: Trusted,
  mayBeRead: number,
): void {
  if (!isTrusted(uid)) {
    throw new OpenToOthers(
      `${path} belongs to another user (uid ${uid}), who can read and replace it`,
      `chown ${user} ${shellWord(path)}`,
    );
  }
  const right = uid === 0 && user !== 0 ? 0o640 : 0o600;
  if ((mode & 0o077 & ~right & ~mayBeRead) === 0) return;
  throw new OpenToOthers(
    `${path} is open to other users (mode ${octal(mode)})`,
    `chmod ${octal(right)} ${shellWord(path)}`,
  );
}

/**
 * Whether a group is this user's alone: it has the user's name and no other member.
 * Systems with umask 002 give each user such a group.
 */
function isOwnGroup(gid: number, uid: number): boolean {
  const records = (path: string) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .map((line) => line.split(':'));
  try {
    const users = records('/etc/passwd');
    const name = users.find(([, , id]) => id === `${uid}`)?.[0];
    const groups = records('/etc/group').filter(([, , id]) => id === `${gid}`);
    const isTheirs = groups.every(
      ([group, , , members = '']) => group === name && (members === '' || members === name),
    );
    const isShared = users.some(([, , id, primary]) => primary === `${gid}` && id !== `${uid}`);
    return groups.length > 0 && isTheirs && !isShared;
  } catch {
    return false;
  }
}

/** Refuses a folder in which others can replace files, as they cannot in a sticky one (/tmp). */
function checkFolder(path: string, isTrusted: Trusted): void {
  const stat = statSync(path);
  const { uid, mode } = stat;
  if (!isTrusted(uid)) {
    throw new OpenToOthers(
      `The folder ${path} belongs to another user (uid ${uid}), who can replace what is in it`,
      `chown ${process.getuid?.()} ${shellWord(path)}`,
    );
  }
  if (!isOpen(stat) || (mode & 0o1000) !== 0) return;
  throw new OpenToOthers(
    `Other users can replace what is in the folder ${path} (mode ${octal(mode)})`,
    `chmod go-w ${shellWord(path)}`,
  );
}

/** Whether others than its owner may write it. */
function isOpen({ uid, gid, mode }: Stats): boolean {
  return (mode & (isOwnGroup(gid, uid) ? 0o002 : 0o022)) !== 0;
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8);
}

/** A path as a word of a shell. */
export function shellWord(path: string): string {
  return /^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
