// The last step of the action, also of a job that was cancelled: removes the address from the list.
import { env } from 'node:process';
import { add, request, say } from './service.mjs';

/** The id of the entry; when the first step was killed, its request is repeated to learn it. */
async function idOfEntry() {
  const { STATE_id: id, STATE_entry: entry } = env;
  return id || !entry ? id : (await add(JSON.parse(entry))).id;
}

async function takeOff() {
  const id = await idOfEntry();
  if (!id) return;
  await request('DELETE', `/${id}`).catch((error) => {
    // It has ended, or somebody removed it.
    if (error.code !== 'not_found' && error.code !== '404') throw error;
  });
}

// The entry ends by itself: the job need not fail.
await takeOff().catch((error) =>
  say(
    'warning',
    `The address of this runner may stay listed until its entry ends: ${error.message}`,
  ),
);
