// The console's icons: strokes on a grid of 24, drawn in the colour of the text.

const shapes = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-4H4zM14 8h6V4h-6z',
  servers: 'M4 4h16v7H4zM4 13h16v7H4zM8 7.5h.01M8 16.5h.01',
  usage: 'M4 20V10M10 20V4M16 20v-7M22 20H2',
  authlist: 'M12 3l8 3v6c0 4.5-3.4 7.8-8 9-4.6-1.2-8-4.5-8-9V6zM8.5 12l2.5 2.5 4.5-5',
  dns: 'M3 12h6M15 6h6M15 18h6M9 12l6-6M9 12l6 6',
  users:
    'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21c0-4 3-6 7-6s7 2 7 6M16 3.5a4 4 0 0 1 0 7.5M18 15c2.500.6 4 2.600 4 6',
  tokens: 'M14.500 10.500a5 5 0 1 0-3 3L13 15h2v2h2v2h3v-3z',
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  lock: 'M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3',
  nodes:
    'M12 4a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM5 16a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM19 16a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM12 8v4M12 12l-6 4M12 12l6 4',
  accounts: 'M3 20V8l9-5 9 5v12zM9 20v-6h6v6',
  calendar: 'M4 6h16v14H4zM4 10h16M8 3v4M16 3v4',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  more: 'M5 11.500a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1zM12 11.500a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1zM19 11.500a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1z',
  menu: 'M4 7h16M4 12h16M4 17h16',
  columns: 'M4 5h16v14H4zM9.500 5v14M14.500 5v14',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.500l4.500 4.500L19 7.500',
  warn: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  edit: 'M4 20l1-4L16 5l3 3L8 19zM14 7l3 3',
  remove: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v6M14 11v6',
  theme: 'M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z',
  leave: 'M10 4H5v16h5M14 8l4 4-4 4M18 12H9',
  pause: 'M8 5v14M16 5v14',
  resume: 'M7 5l12 7-12 7z',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.500 4.500',
  keyboard: 'M3 6h18v12H3zM7 10h.01M12 10h.01M17 10h.01M8 14h8',
  place:
    'M12 21s-7-6.500-7-11a7 7 0 0 1 14 0c0 4.500-7 11-7 11zM12 12.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5z',
  control: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4',
  connections:
    'M12 13.5a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM8.500 15.500a5 5 0 0 1 0-7M15.500 8.500a5 5 0 0 1 0 7M5.500 18.500a9 9 0 0 1 0-13M18.500 5.500a9 9 0 0 1 0 13',
  test: 'M4 12h9M9 8l4 4-4 4M14 5h5v14h-5',
  download: 'M12 4v11M7 11l5 5 5-5M4 20h16',
} as const;

export type IconName = keyof typeof shapes;

/** Decoration only: its meaning is next to it as text, or in the label of its button. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={shapes[name]} />
    </svg>
  );
}
