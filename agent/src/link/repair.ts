// Makes the store write the changes that its disk did not accept, as soon as the disk works again.
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Store } from '../store/store.ts';

export interface Repairing {
  store: Store;
  clock: Clock;
  log: Logger;
  /** Resolves when the store may need a repair, or the signal is aborted. */
  moved: (signal: AbortSignal) => Promise<void>;
  /** Called when everything that is held can be acknowledged again. */
  onRepaired: () => void;
}

const fullPauseSeconds = 1;
/** After a failed sync the whole policy is written again, so attempts are rare. */
const unsyncedPauseSeconds = 30;

export async function keepRepaired(options: Repairing, signal: AbortSignal): Promise<void> {
  const { store, clock, log, moved, onRepaired } = options;
  for (;;) {
    while (store.isSound && !signal.aborted) await moved(signal);
    if (signal.aborted) return;
    log.error(
      { faults: store.faults() },
      'the disk does not store changes: they are held in memory',
    );
    while (!store.isSound) {
      const isFull = store.unstored.size > 0;
      await clock.sleep(isFull ? fullPauseSeconds : unsyncedPauseSeconds, signal);
      if (signal.aborted) return;
      await store.repair();
    }
    log.info({ ...store.position }, 'the disk stores changes again');
    onRepaired();
  }
}
