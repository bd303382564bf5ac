// Light or dark: the system's theme, unless the user selected one.
import { effect, signal } from '@preact/signals';
import { inBrowser } from './stored.ts';

const key = 'exitward-theme';
export type Theme = 'system' | 'light' | 'dark';

const stored = inBrowser.get(key);
export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');

effect(() => {
  const { dataset } = document.documentElement;
  if (theme.value === 'system') {
    delete dataset.theme;
    inBrowser.remove(key);
  } else {
    dataset.theme = theme.value;
    inBrowser.set(key, theme.value);
  }
});

const order: Theme[] = ['system', 'light', 'dark'];

export function nextTheme(): void {
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length] as Theme;
}
