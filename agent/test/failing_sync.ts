// A disk that takes changes and may forget them: fsync fails, as it does on a disk that is dying.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished } from 'vitest';

const real = fs.fsync;

/** Lets every fsync of a file of changes fail, until it is called. */
export function failToSync(): () => void {
  const heal = () => {
    fs.fsync = real;
    syncBuiltinESMExports();
  };
  const error = Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
  fs.fsync = Object.assign((_fd: number, done: fs.NoParamCallback) => done(error), {
    __promisify__: real.__promisify__,
  });
  syncBuiltinESMExports();
  onTestFinished(heal);
  return heal;
}
