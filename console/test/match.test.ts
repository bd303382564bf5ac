// The order in which the palette shows what it found.
import { expect, test } from 'vitest';
import { ranked } from '../src/palette/match.ts';

const item = (name: string, words = '') => ({ key: name, name, words });
const names = (typed: string, recent: string[], ...items: Array<ReturnType<typeof item>>) =>
  ranked(items, typed, recent).map(({ name }) => name);

test('the whole name comes first, then its beginning, the beginning of a word, a part, and words about it', () => {
  const items = [
    item('unaddressed'),
    item('Berlin', 'add'),
    item('IP address'),
    item('Add a user'),
    item('add'),
    item('Hamburg', 'caddy'),
    item('nothing of it'),
  ];
  expect(names(' ADD ', [], ...items)).toEqual([
    'add',
    'Add a user',
    'IP address',
    'unaddressed',
    'Berlin',
    'Hamburg',
  ]);
});

test('parts of hostnames and addresses are words', () => {
  const items = [item('myshop.example.com'), item('www.shop.example.com'), item('10.203.0.1')];
  expect(names('shop', [], ...items)).toEqual(['www.shop.example.com', 'myshop.example.com']);
  expect(names('203.0', [], ...items)).toEqual(['10.203.0.1']);
});

test('each word that is typed must be there, in any order', () => {
  const items = [item('Add a user'), item('Add a server'), item('user', 'add')];
  expect(names('user add', [], ...items)).toEqual(['Add a user', 'user']);
});

test('of those that fit alike the recent ones come first, the last one ahead; a better fit stays ahead of them', () => {
  const items = [item('fra1'), item('fra2'), item('fra3'), item('to fra')];
  expect(names('fra', ['fra3', 'to fra', 'fra2'], ...items)).toEqual([
    'fra3',
    'fra2',
    'fra1',
    'to fra',
  ]);
});
