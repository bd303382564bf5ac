// A program: the server as its own process, which acknowledges writes before they are durable. The
// durability test must see it lose some.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../src/db/database.ts';
import { runUntilStopped } from '../src/process.ts';

const earlyMs = 20;

/** Resolves a write as soon as its action has run; its group commits a moment later. */
function acknowledgingEarly(db: Database): Database {
  const write: Database['write'] = (actor, action, options) =>
    new Promise((resolve, reject) => {
      const acknowledged: typeof action = async (tx) => {
        const result = await action(tx);
        resolve(result);
        await sleep(earlyMs);
        return result;
      };
      db.write(actor, acknowledged, options).catch(reject);
    });
  return new Proxy(db, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target);
      if (name === 'write') return write;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

await runUntilStopped(process.env, undefined, { database: acknowledgingEarly });
