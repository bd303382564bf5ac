// The metrics of backups.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { BackupStatus } from './schedule.ts';

/** Shows the state of backups, read at each scrape. */
export function showBackups(
  registry: Registry,
  backups: { status(): BackupStatus; failures: number },
): void {
  const gauge = (name: string, help: string, of: (status: BackupStatus) => number | undefined) =>
    new Gauge({
      name: `exitward_backup_${name}`,
      help,
      registers: [registry],
      collect() {
        // A reset would leave 0, which reads as a backup made in 1970.
        this.remove();
        const value = of(backups.status());
        if (value !== undefined) this.set(value);
      },
    });
  gauge(
    'last_seconds',
    'When the newest scheduled backup was made, in epoch seconds; no sample before the first.',
    ({ last }) => last?.at,
  );
  gauge('last_bytes', 'Size of the newest scheduled backup.', ({ last }) => last?.bytes);
  gauge(
    'last_verified_seconds',
    'When the newest backup that verified well was made, in epoch seconds.',
    ({ last_verified }) => last_verified?.at,
  );
  gauge('every_seconds', 'The interval of the schedule.', ({ every_seconds }) => every_seconds);
  gauge('late', '1 when there was no good backup for longer than twice the interval.', (status) =>
    status.late ? 1 : 0,
  );
  gauge('fault', '1 when the last backup, or its verification, failed.', ({ fault }) =>
    fault === null ? 0 : 1,
  );
  new Counter({
    name: 'exitward_backup_failures_total',
    help: 'Attempts of this process that failed.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(backups.failures);
    },
  });
}
