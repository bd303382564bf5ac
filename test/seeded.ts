// Before each file of tests: properties without a seed of their own take the run's. After it no
// global is a stub any more: files share threads.
import fc from 'fast-check';
import { afterAll, vi } from 'vitest';
import { newSeed } from './seed.ts';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: newSeed() });

afterAll(() => void vi.unstubAllGlobals());
