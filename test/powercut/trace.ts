// The trace of a process: all that it did to the files below a folder, in one order, with the marks
// that it set.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Content } from './content.ts';

const run = promisify(execFile);

export interface Call {
  /** `failed`: an fsync that said so. */
  call:
    | ('root' | 'create' | 'mkdir' | 'rename' | 'link' | 'unlink')
    | ('write' | 'truncate' | 'fsync' | 'failed');
  inode: number;
  /** Where it writes, or the length to which it truncates. */
  offset: number;
  path: string;
  /** The new name. */
  other: string;
  bytes: Buffer;
}

/** The name of the file that a recorded process writes its marks to, a line of JSON each. */
export const marks = 'marks';

/**
 * Runs a program of Node's on an empty folder, the first of its arguments, once with each of these
 * environments, as a machine on which it dies and is started again. Returns the trace of all its
 * lives.
 */
export async function recordTrace(
  program: string,
  lives: readonly NodeJS.ProcessEnv[],
): Promise<Call[]> {
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'exitward-power-cut-')));
  try {
    const [recorder, folder, trace] = ['recorder.so', 'disk', 'trace'].map((name) =>
      join(scratch, name),
    ) as [string, string, string];
    const source = join(import.meta.dirname, 'recorder.c');
    await run('cc', ['-shared', '-fPIC', '-O1', '-o', recorder, source, '-ldl', '-lpthread']);
    mkdirSync(folder);
    for (const env of lives) {
      await run(process.execPath, [join(import.meta.dirname, program), folder], {
        env: {
          // Nothing else: a cache of compiled sources is written past the recorder.
          PATH: process.env.PATH,
          ...env,
          LD_PRELOAD: recorder,
          POWERCUT_FOLDER: folder,
          POWERCUT_TRACE: trace,
          // Calls that go through a ring in memory are not seen.
          UV_USE_IO_URING: '0',
        },
        maxBuffer: 64 * 1024 * 1024,
      }).catch((error: Error & { signal?: string }) => {
        if (error.signal !== 'SIGKILL') throw error;
      });
    }
    return readTrace(readFileSync(trace), folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function readTrace(trace: Buffer, folder: string): Call[] {
  const calls: Call[] = [];
  const within = (path: string) => path.slice(folder.length + 1);
  for (let at = 0; at < trace.length; ) {
    const end = trace.indexOf('\n', at);
    const [call, inode, offset, length, path = '', other = ''] = trace
      .toString('utf8', at, end)
      .split(' ');
    at = end + 1 + Number(length);
    calls.push({
      call: call as Call['call'],
      inode: Number(inode),
      offset: Number(offset),
      path: within(path),
      other: within(other),
      bytes: trace.subarray(end + 1, at),
    });
  }
  return calls;
}

/** The marks that were set before a cut, and of each how many calls had been made. */
export function marksOf<Mark>(calls: readonly Call[]): Array<Mark & { at: number }> {
  const file = calls.find(({ call, path }) => call === 'create' && path === marks)?.inode;
  return calls.flatMap(({ call, inode, bytes }, at) =>
    call === 'write' && inode === file ? [{ ...(JSON.parse(bytes.toString()) as Mark), at }] : [],
  );
}

/** The same life on a system that ignores the syncs of the files of that name. */
export function withoutSync(calls: readonly Call[], isLost: (path: string) => boolean): Call[] {
  const names = new Map<number, string>();
  return calls.filter(({ call, inode, path }) => {
    if (call === 'create') names.set(inode, path);
    return !(call === 'fsync' && isLost(names.get(inode) ?? ''));
  });
}

/** The same lives of a program that does not write again what it finds there already. */
export function withoutRewrites(
  calls: readonly Call[],
  isTrusted: (path: string) => boolean,
): Call[] {
  const contents = new Map<number, Content>();
  return calls.filter((call) => {
    if (call.call === 'create' && isTrusted(call.path)) contents.set(call.inode, new Content());
    const content = contents.get(call.inode);
    if (!content || (call.call !== 'write' && call.call !== 'truncate')) return true;
    const isKnown = call.call === 'write' && content.has(call);
    content.apply(call);
    return !isKnown;
  });
}
