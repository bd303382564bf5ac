// The keys of the palette: which are an input method's.
import { expect, test } from 'vitest';
import { isComposing } from '../src/palette/keys.ts';

test.each([
  ['while a word is composed', { isComposing: true, keyCode: 13 }, true],
  ['that ends a composition in Safari', { isComposing: false, keyCode: 229 }, true],
  ['of its own', { isComposing: false, keyCode: 13 }, false],
])('an Enter %s: is it the input method\u2019s?', (_, event, isMethods) => {
  expect(isComposing(event as KeyboardEvent)).toBe(isMethods);
});
