// A program: the server as its own process, with the settings of its environment.
import { runUntilStopped } from '../src/process.ts';

await runUntilStopped(process.env);
