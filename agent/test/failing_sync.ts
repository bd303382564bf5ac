// A disk that accepts changes and may lose them: fsync fails, as on a disk that is dying.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished } from 'vitest';

const real = fs.fsync;

/** Makes every fsync of a file of changes fail, until the returned function is called. */
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
