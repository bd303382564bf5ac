// A program that runs a command line again and again, as if each time were a process: with
// arguments and an environment of its own, nothing to read, and an end when nothing is left to wait
// for. Loading it again would take most of the time.
import { pathToFileURL } from 'node:url';

/** One run of the command line. */
export interface Asked {
  args: string[];
  env: NodeJS.ProcessEnv;
}

const [, , bin = ''] = process.argv;
const said = { stdout: '', stderr: '' };
for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = (text: string | Uint8Array, ...rest: unknown[]) => {
    said[name] += typeof text === 'string' ? text : Buffer.from(text).toString('utf8');
    const written = rest.findLast((argument) => typeof argument === 'function') as
      | (() => void)
      | undefined;
    if (written) process.nextTick(written);
    return true;
  };
}

let runs = 0;
process.on('message', async ({ args, env }: Asked) => {
  Object.assign(said, { stdout: '', stderr: '' });
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.argv.splice(1, Number.POSITIVE_INFINITY, bin, ...args);
  process.exitCode = undefined;
  // From here on the event loop ends as that of a process would.
  process.channel?.unref();
  runs += 1;
  await import(`${pathToFileURL(bin)}?run=${runs}`);
});
process.on('beforeExit', () => {
  if (!process.connected) return;
  // A reader that goes away is heard of once.
  process.stdout.removeAllListeners('error');
  process.channel?.ref();
  process.send?.({ code: Number(process.exitCode ?? 0), ...said });
});
