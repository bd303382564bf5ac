// Rotation of the signing keys as customers see it: a real agent accepts the tokens from before,
// during and after.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../server/test/waiting.ts';
import { nextClientIp } from './system/places.ts';
import { through, World } from './system/world.ts';

let world: World;
beforeAll(async () => {
  world = await World.start('embedded');
});
afterAll(() => world?.stop());

test('no token is refused across a rotation, and a node that does not know the key yet holds it up', async () => {
  const { control } = world;
  const { server, agent, place } = await world.node();
  const customer = await world.customer(server);
  await agent.follow();
  const decision = (credentials: string) =>
    world.decisionFor(through(place, nextClientIp(), { credentials }));
  const kidOf = (credentials: string) => {
    const [, payload = ''] = /ewt_([\w-]+)\./.exec(credentials) ?? [];
    return JSON.parse(Buffer.from(payload, 'base64url').toString())[1] as string;
  };
  const before = await customer.credentials();
  expect(await decision(before)).toBe('200');

  // The agent is stopped: it cannot know the key, and the key does not sign.
  await agent.end('SIGKILL');
  const { kid } = JSON.parse((await control.command('keys', 'rotate', '--json')).stdout);
  await expect(control.command('keys', 'rotate', '--activate')).rejects.toThrow(
    /do not know the signing key/,
  );
  const during = await customer.credentials();
  expect(kidOf(during)).toBe(kidOf(before));
  await agent.follow();
  expect(await decision(during)).toBe('200');

  await until(() => control.command('keys', 'rotate', '--activate').then(() => true), 40);
  const after = await customer.credentials();
  expect(kidOf(after)).toBe(kid);
  for (const credentials of [before, during, after])
    expect(await decision(credentials)).toBe('200');

  // Killed, and started again: still signed by the new one.
  await control.kill();
  await control.startAgain();
  const last = await customer.credentials();
  expect(kidOf(last)).toBe(kid);
  expect(await decision(last)).toBe('200');
  expect(await decision(`${last.slice(0, -6)}AAAAAA`)).not.toBe('200');

  // One that was stolen does not hold until its last token ends: a forged token would come again
  // and again.
  const stolen = kidOf(before);
  await expect(control.command('keys', 'revoke', kid, '--yes')).rejects.toThrow(
    /the one that signs/,
  );
  await expect(control.command('keys', 'revoke', stolen)).rejects.toThrow(/--yes/);
  await control.command('keys', 'revoke', stolen, '--yes');
  await until(async () => (await decision(before)) !== '200', 10);
  expect(await decision(last)).toBe('200');
  await expect(control.command('keys', 'revoke', stolen, '--yes')).rejects.toThrow(
    /There is no signing key/,
  );
});
