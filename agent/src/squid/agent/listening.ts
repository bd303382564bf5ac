// Listening sockets, as the kernel lists them, and the process of each.
import { execFile } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** By port: the inodes of the sockets that listen on it. */
export async function listListening(): Promise<Map<number, string[]>> {
  const { stdout } = await run('ss', ['-tlnHe'], { maxBuffer: 64 * 1024 * 1024 });
  const listening = new Map<number, string[]>();
  for (const line of stdout.split('\n')) {
    const [, port, inode] = /^\S+ +\d+ +\d+ +\S+:(\d+) .*\bino:(\d+)/.exec(line) ?? [];
    if (port === undefined || inode === undefined) continue;
    const inodes = listening.get(Number(port));
    if (inodes) inodes.push(inode);
    else listening.set(Number(port), [inode]);
  }
  return listening;
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
