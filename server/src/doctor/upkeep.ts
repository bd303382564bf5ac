// The upkeep of a running server: its backups, and a certificate by ACME.

import { fault, type Outcome, ok, warning } from '../../../kit/src/doctor/check.ts';
import type { BackupStatus } from '../backups/schedule.ts';
import type { Clock } from '../clock.ts';
import { installation } from '../install/installation.ts';
import type { CertificateStatus } from '../tls/certificate.ts';

/** The Debian package's service may write there. */
const usualFolder = installation.isService ? '/var/backups/exitward' : 'FOLDER';

/** Undefined: it makes no backups by itself. */
export function backupStates(
  status: BackupStatus | undefined,
  engine: 'sqlite' | 'postgres',
  clock: Clock,
): Outcome {
  if (engine === 'postgres') {
    return ok('Backups of PostgreSQL are made by its own tools: docs/postgresql.md.');
  }
  if (!status) {
    return warning(
      'The server makes no backups by itself.',
      `${installation.withSetting(`EXITWARD_BACKUP_DIR=${usualFolder}`)}; and copy them to another machine`,
    );
  }
  const { folder, verify, last, last_verified, late } = status;
  const good = verify ? last_verified : last;
  const lastBackup = good
    ? `The last good backup is ${Math.floor((clock.now() - good.at) / 3600)} hours old`
    : 'There is no good backup yet';
  const remedy = `exitward status says more; room in ${folder}, and its owner, are the first to look at`;
  if (status.fault !== null) {
    const sentence = `${lastBackup}: ${status.fault}`;
    return late ? fault(sentence, remedy) : warning(sentence, remedy);
  }
  return late ? fault(`${lastBackup}.`, remedy) : ok(`${lastBackup}; they are in ${folder}.`);
}

/** Null: there is no TLS. The expiry is checked by another check, which reads the file. */
export function certificateRenewal(status: CertificateStatus | null): Outcome {
  if (!status || status.source === 'file') return ok('No certificate is renewed by the server.');
  const { source, last_error } = status;
  if (last_error === null) {
    return source === 'acme'
      ? ok('The certificate is renewed by ACME.')
      : warning('The first certificate by ACME is on its way.', 'look again in a minute');
  }
  const remedy = 'docs/tls.md says what each failure needs; it is tried again by itself';
  return source === 'acme' ? warning(last_error, remedy) : fault(last_error, remedy);
}
