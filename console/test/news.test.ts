// News: which responses the page reads again after an event.
import { expect, test } from 'vitest';
import { asOfHeaders, eventCount, hear, isOutdated } from '../src/api/news.ts';

const response = (versions: string, events = eventCount()) => {
  const asOf = asOfHeaders(new Headers({ 'exitward-as-of': versions }), events);
  if (!asOf) throw new Error('no header');
  return asOf;
};

test('a response is outdated after an event with another version of what it shows, and of nothing else', () => {
  const shown = response('authlist=a1, users=u1, usage=b1');
  hear({ authlist: 'a1', users: 'u1', usage: 'b1' });
  expect(isOutdated('console_list_authlist', shown)).toBe(false);
  hear({ authlist: 'a1', users: 'u1', usage: 'b2' });
  expect(isOutdated('console_list_authlist', shown)).toBe(false);
  hear({ authlist: 'a2', users: 'u1', usage: 'b2' });
  expect(isOutdated('console_list_authlist', shown)).toBe(true);
});

test('a response that was requested after the newest event is newer than it, whatever its version', () => {
  hear({ authlist: 'a2', users: 'u1' });
  expect(isOutdated('console_list_authlist', response('authlist=a3, users=u1'))).toBe(false);
});

test('a response that was underway when the event came is read again unless it has its versions', () => {
  const before = eventCount();
  hear({ authlist: 'a4', users: 'u1' });
  expect(isOutdated('console_list_authlist', response('authlist=a3, users=u1', before))).toBe(true);
  expect(isOutdated('console_list_authlist', response('authlist=a4, users=u1', before))).toBe(
    false,
  );
});

test('operators compare numbers in the same way, with those of nodes', () => {
  const shown = response('revision=7, nodes=3, network=2');
  hear({ revision: 8, nodes: 3, network: 2 });
  expect(isOutdated('admin_list_nodes', shown)).toBe(false);
  hear({ revision: 8, nodes: 4, network: 2 });
  expect(isOutdated('admin_list_nodes', shown)).toBe(true);
});
