// Before each file of tests: properties without a seed of their own take the run's.
import fc from 'fast-check';
import { newSeed } from './seed.ts';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: newSeed() });
