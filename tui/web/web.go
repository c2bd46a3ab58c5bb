// Package web has what pages of kviz are made of: a grid as a drawing (SVG) or as text, the theme's colours as a stylesheet, and
// the texts of lessons in pieces. Handouts and the page of a class use it.
//
// All that it writes is escaped for where it stands, and made safe before as it is for a terminal: what a page says comes from
// lessons and classes whose authors need not be known. Pictures mean nothing by colour alone, as on a terminal, so a page may
// print them in black.
//
// Start reading at [Drawing].
package web
