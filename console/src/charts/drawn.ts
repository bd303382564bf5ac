// Parts of charts on a canvas: the current colours of the style sheet, and times on an axis.
import { useEffect, useState } from 'preact/hooks';
import { theme } from '../theme.ts';
import { daySeconds } from './days.ts';

/**
 * The value of a variable of the style sheet: a canvas knows neither variables nor light-dark(). It
 * is read from a new element, since an existing one may still be in transition between themes.
 */
export function drawnColor(within: HTMLElement, variable: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${variable})`;
  within.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Changes when the page turns light or dark, by the user's choice or the system's. */
export function useDarkness(): string {
  const [system, setSystem] = useState(darkSystem.matches);
  useEffect(() => {
    const update = () => setSystem(darkSystem.matches);
    darkSystem.addEventListener('change', update);
    return () => darkSystem.removeEventListener('change', update);
  }, []);
  return `${theme.value} ${system}`;
}

const darkSystem = matchMedia('(prefers-color-scheme: dark)');

const shortDay = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});
const shortHour = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

/** "21 Nov", and within a day "12:00", in UTC. */
export const axisTime = (time: number) =>
  (time % daySeconds === 0 ? shortDay : shortHour).format(time * 1000);
