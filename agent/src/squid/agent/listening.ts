// Listening sockets, as the kernel lists them, and the process of each.
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** A line of the kernel's list: the local port, in hexadecimal; the state; and the inode. */
const socketLine = /^ *\d+: [\dA-F]+:([\dA-F]{4}) \S+ ([\dA-F]{2}) (?:\S+ +){5}(\d+)/;
const listeningState = '0A';

/** By port: the inodes of the sockets that listen on it. */
export async function listListening(): Promise<Map<number, string[]>> {
  const listening = new Map<number, string[]>();
  // A kernel without IPv6 has no tcp6.
  for (const list of ['/proc/net/tcp', '/proc/net/tcp6'].filter((path) => existsSync(path))) {
    for (const [port, inode] of await readListening(list)) {
      const inodes = listening.get(port);
      if (inodes) inodes.push(inode);
      else listening.set(port, [inode]);
    }
  }
  return listening;
}

/** The ports and inodes of one list, which begins with the sockets that listen. */
async function readListening(list: string): Promise<Array<[number, string]>> {
  const entries: Array<[number, string]> = [];
  const file = await open(list);
  try {
    for await (const line of file.readLines({ autoClose: false })) {
      const [, port, state, inode] = socketLine.exec(line) ?? [];
      if (port === undefined || inode === undefined) continue;
      // Connections follow, and can be many.
      if (state !== listeningState) break;
      entries.push([Number.parseInt(port, 16), inode]);
    }
  } finally {
    await file.close();
  }
  return entries;
}

/** The inodes of a process's sockets; undefined if this user may not see them. */
export function socketsOf(pid: number): Set<string> | undefined {
  const sockets = new Set<string>();
  try {
    for (const fd of readdirSync(`/proc/${pid}/fd`)) {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkIfThere(`/proc/${pid}/fd/${fd}`)) ?? [];
      if (inode !== undefined) sockets.add(inode);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return undefined;
  }
  return sockets;
}

function readlinkIfThere(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
