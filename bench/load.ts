// Drives load with wrk from the other core, and starts the servers that it loads on theirs.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Load {
  url: string;
  connections: number;
  seconds: number;
  headers?: Record<string, string>;
  /** A Lua script of bench/, with its arguments. */
  script?: string[];
  /** Any core may do, not only the second: where more than one process answers. */
  anywhere?: boolean;
}

export interface Result {
  /** Answers per second. */
  rate: number;
  p50_ms: number;
  p99_ms: number;
  /** Answers that were no 2xx or 3xx, and socket errors. */
  bad: number;
}

const run = promisify(execFile);
const twoCores = availableParallelism() >= 2;

/** Runs wrk, by default on the second core. */
export async function load({
  url,
  connections,
  seconds,
  headers = {},
  script,
  anywhere = !twoCores,
}: Load): Promise<Result> {
  const lua = script ? ['-s', fileURLToPath(new URL(script[0] as string, import.meta.url))] : [];
  const args = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--latency',
    ...lua,
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    url,
    ...(script ? ['--', ...script.slice(1)] : []),
  ];
  const { stdout } = anywhere
    ? await run('wrk', args)
    : await run('taskset', ['-c', '1', 'wrk', ...args]);
  const milliseconds = (percent: string) => {
    const match = new RegExp(`${percent}%\\s+([\\d.]+)(us|ms|s)`).exec(stdout);
    const scale = { us: 0.001, ms: 1, s: 1000 }[match?.[2] ?? 'ms'] ?? 1;
    return Number(match?.[1]) * scale;
  };
  const failed = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0);
  const errors = /Socket errors: (.*)/.exec(stdout)?.[1]?.match(/\d+/g) ?? [];
  return {
    rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    p50_ms: milliseconds('50'),
    p99_ms: milliseconds('99'),
    bad: errors.map(Number).reduce((sum, count) => sum + count, failed),
  };
}

export interface Process {
  /** The first line that it printed. */
  said: string;
  pid: number;
  stop(): Promise<void>;
}

/** They end with this program, also where a measurement fails. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill();
});

/**
 * Starts a TypeScript file of bench/ as a process, by default on the first core; resolves
 * with its first line. `isQuiet`: what it prints for people is not shown.
 */
export async function start(
  file: string,
  args: string[],
  env: Record<string, string>,
  { anywhere = !twoCores, isQuiet = false } = {},
): Promise<Process> {
  // The flag that the launcher of `exitward` runs with.
  const path = fileURLToPath(new URL(file, import.meta.url));
  const program = [process.execPath, '--max-semi-space-size=8', path, ...args];
  const [command = '', ...rest] = anywhere ? program : ['taskset', '-c', '0', ...program];
  const child: ChildProcess = spawn(command, rest, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', isQuiet ? 'ignore' : 'inherit'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [said] = (await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(() => {
      throw new Error(`${file} ended before it was ready`);
    }),
  ])) as [string];
  return {
    said,
    pid: child.pid as number,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
}
