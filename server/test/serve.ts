// A program: the server as its own process, with the settings of its environment.
import { enableCompileCache, flushCompileCache } from 'node:module';

// As bin/exitward.js does; and at once, for most of these processes are killed.
enableCompileCache();
const { runUntilStopped } = await import('../src/process.ts');
flushCompileCache();
await runUntilStopped(process.env);
