// Parts of charts that are drawn on a canvas: the colours of the style sheet, as the theme has them now, and times on an axis.
import { useEffect, useState } from 'preact/hooks';
import { theme } from '../theme.ts';
import { day_seconds } from './days.ts';

/**
 * A variable of the style sheet, resolved: a canvas knows neither variables nor light-dark(). Asked of
 * a new element, as one that is there may still be on its way from the colour of the theme before.
 */
export function drawnColor(within: HTMLElement, variable: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${variable})`;
  within.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Changes whenever the page turns light or dark, by the reader's choice or the system's. */
export function useDarkness(): string {
  const [system, setSystem] = useState(darkSystem.matches);
  useEffect(() => {
    const heard = () => setSystem(darkSystem.matches);
    darkSystem.addEventListener('change', heard);
    return () => darkSystem.removeEventListener('change', heard);
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
  (time % day_seconds === 0 ? shortDay : shortHour).format(time * 1000);
