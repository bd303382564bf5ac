// Nodes in one process that follow the changes and answer watches, with the agent's own code and as
// many open connections as they are given. Started by looks.ts.
import { pino } from 'pino';
import { systemClock } from '../agent/src/clock.ts';
import type { OpenConnection } from '../agent/src/engine.ts';
import { HttpControl } from '../agent/src/link/control.ts';
import { Watches } from '../agent/src/link/watches.ts';

/** The message that it gets; it answers when all follow, and each second with its reports. */
export interface Looking {
  url: string;
  /** One for each node. */
  tokens: string[];
  epoch: string;
  revision: number;
  /** Ids, in each of which a user 1 is connected. */
  accounts: number;
  groups: number;
  connections: number;
}

const exit = '198.51.100.1';

export function openConnections({
  accounts,
  groups,
  connections,
}: Pick<Looking, 'accounts' | 'groups' | 'connections'>): OpenConnection[] {
  return Array.from({ length: connections }, (_, at) => {
    const group = at % groups;
    return {
      authority: { by: 'authlist', account: 1 + (group % accounts), user: 1, entry: 1, ip: '' },
      ...{ service: 'proxy', address: `10.0.${group >> 8}.${group & 255}`, exit_ip: exit },
      ...{ since: 1, last_byte_at: 1, up: 1000, down: 1_000_000 },
    };
  });
}

process.once('message', (looking: Looking) => {
  const { signal } = new AbortController();
  const log = pino({ level: 'silent' });
  const all = openConnections(looking);
  let reports = 0;
  let following = 0;
  for (const token of looking.tokens) {
    const control = new HttpControl({ url: looking.url, token, signal });
    const reportConnections: HttpControl['reportConnections'] = (watch, largest) => {
      reports += 1;
      return control.reportConnections(watch, largest);
    };
    const engine = { connections: () => all };
    const watches = new Watches({
      engine,
      control: { reportConnections },
      clock: systemClock,
      log,
    });
    void watches.run(signal);
    void (async () => {
      const { epoch, revision } = looking;
      let isFirst = true;
      for await (const { position, records } of control.changes({ epoch, revision }, signal)) {
        for (const record of records) watches.note(record);
        await control.acknowledge(position);
        if (isFirst) following += 1;
        isFirst = false;
      }
    })();
  }
  setInterval(() => process.send?.({ following, reports }), 100);
});
