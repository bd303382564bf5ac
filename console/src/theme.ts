// Light or dark: the system's theme, unless the user selected one.
import { effect, signal } from '@preact/signals';

const key = 'exitward-theme';
export type Theme = 'system' | 'light' | 'dark';

const stored = localStorage.getItem(key);
export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');

effect(() => {
  const { dataset } = document.documentElement;
  if (theme.value === 'system') {
    delete dataset.theme;
    localStorage.removeItem(key);
  } else {
    dataset.theme = theme.value;
    localStorage.setItem(key, theme.value);
  }
});

const order: Theme[] = ['system', 'light', 'dark'];

export function nextTheme(): void {
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length] as Theme;
}
