// The messages of what was done: for how long they offer a way back, and which of them a new one
// replaces.
import { beforeEach, describe, expect, test } from 'vitest';
import { notify, notifyError, toasts } from '../src/ui/toast.tsx';

const undo = () => {};
const texts = () => toasts.value.map(({ text }) => text);

beforeEach(() => {
  toasts.value = [];
});

describe('messages', () => {
  test('a message about an entry takes the place of the earlier one about the same entry', () => {
    notify('7 is listed', { undo, about: ['authlist/7', 'authlist/198.51.100.7'] });
    notify('8 is listed', { undo, about: ['authlist/8', 'authlist/198.51.100.8'] });
    notify('7 is removed', { undo, about: ['authlist/7', 'authlist/198.51.100.7'] });
    expect(texts()).toEqual(['8 is listed', '7 is removed']);
  });

  test('a message about an entry leaves those about others, and those about nothing', () => {
    notify('Saved grace');
    notify('70 is listed', { undo, about: ['authlist/70'] });
    notify('7 is listed', { undo, about: ['authlist/7'] });
    expect(texts()).toEqual(['Saved grace', '70 is listed', '7 is listed']);
  });

  test('a message about a whole list takes the place of those about its entries', () => {
    notify('7 is listed', { undo, about: ['authlist/7'] });
    notify('3 is added', { undo, about: ['overrides/3'] });
    notify('All removed', { undo, about: ['authlist'] });
    expect(texts()).toEqual(['3 is added', 'All removed']);
    notify('8 is listed', { undo, about: ['authlist/8'] });
    expect(texts()).toEqual(['3 is added', 'All removed', '8 is listed']);
  });

  test('the way back is gone when its time is over, and not offered where nobody could reach it', () => {
    notify('long', { undo });
    notify('short', { undo, undoSeconds: 8 });
    notify('over', { undo, undoSeconds: 1 });
    expect(toasts.value.map((toast) => [toast.text, 'undo' in toast, toast.lastsSeconds])).toEqual([
      ['long', true, 12],
      ['short', true, 8],
      ['over', false, 5],
    ]);
  });

  test('what did not work stays until it is dismissed, and three messages are shown at most', () => {
    for (const text of ['one', 'two', 'three']) notify(text);
    notifyError('Undo failed.');
    expect(texts()).toEqual(['two', 'three', 'Undo failed.']);
    expect(toasts.value.at(-1)?.lastsSeconds).toBeUndefined();
  });
});
