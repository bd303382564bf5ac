// The user that Squid becomes when root starts it, and whether that user can read the files it
// needs.
import { readFileSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

export interface UnixUser {
  name: string;
  uid: number;
  gid: number;
}

/** The name on Debian. */
const squidUser = 'proxy';

/**
 * The user that Squid becomes; undefined unless root starts it (it then keeps this process's
 * user). This user's group must be able to read the files that deciders read. Errors: there is no
 * such user.
 */
export function findSquidUser(): UnixUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((row) => row.startsWith(`${squidUser}:`));
  const [name = '', , uid, gid] = line?.split(':') ?? [];
  if (!line) {
    throw new Error(
      `There is no user ${squidUser} on this machine; Debian's package squid-openssl creates it.`,
    );
  }
  return { name, uid: Number(uid), gid: Number(gid) };
}

/** The first folder on the path, or the file itself, that the user may not enter or read. */
export function findUnreadable(path: string, user: UnixUser): string | undefined {
  const folders: string[] = [];
  for (let at = dirname(path); ; at = dirname(at)) {
    folders.unshift(at);
    if (at === dirname(at)) break;
  }
  return (
    folders.find((folder) => !may(statSync(folder), user, 0o1)) ??
    (may(statSync(path), user, 0o4) ? undefined : path)
  );
}

function may({ mode, uid, gid }: Stats, user: UnixUser, right: number): boolean {
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
  return ((mode >> shift) & right) !== 0;
}
