;;; Expressions that are wrong, and what is said about them.

(get-principels)
;=> (:error "`get-principels` is not defined" :line 1 :column 2 :near (table (:name :example)
;    ("get-principles" "(get-principles)")
;    ("get-principle" "(get-principle \"one-writer\")")
;    ("get-in" "(get-in d [:related :files])")))

(filtre even? '(1 2))
;=> (:error "`filtre` is not defined" :line 1 :column 2 :near (table (:name :example)
;    ("filter" "(filter (lambda (p) (> (@ p :confidence) 0.8)) (get-principles))")
;    ("filter-map" "(filter-map :impact (get-decisions))")))

(map (lambda (p) (@ p :confidense)) (get-principles))
;=> (:error "records have no field `confidense`" :line 1 :column 18 :near (table (:name :example)
;    ("confidence" "(:confidence d)")
;    ("confirmations" "(:confirmations d)")
;    ("confirmed-by" "(:confirmed-by d)")))

(let ((decisions (get-decisions)))
  (count decisons))
;=> (:error "`decisons` is not defined" :line 2 :column 10 :near (table (:name :example)
;    ("decisions" "decisions")
;    ("dec" "(dec 1)")
;    ("description" "(:description d)")))

(+ 1 "two")
;=> (:error "`+`: expected a number, got the string \"two\"" :line 1 :column 1 :near ((:name "+" :example "(+ 1 2 3)")))

(+ 1 nil)
;=> (:error "`+`: expected a number, got nil" :line 1 :column 1 :near ((:name "+" :example "(+ 1 2 3)")))

(take 1)
;=> (:error "`take` takes 2 arguments and got 1" :line 1 :column 1 :near ((:name "take" :example "(take 5 (get-recent))")))

(get-decision)
;=> (:error "`get-decision` takes 1 argument and got 0" :line 1 :column 1 :near ((:name "get-decision" :example "(:rationale (get-decision \"one-flock\"))")))

((lambda (x) x))
;=> (:error "this function takes 1 argument and got 0" :line 1 :column 1)

(define (twice x) (* 2 x)) (twice 1 2)
;=> (:error "`twice` takes 1 argument and got 2" :line 1 :column 28)

(1 2 3)
;=> (:error "the number 1 is not a function, and stands where one is called" :line 1 :column 1)

("text")
;=> (:error "the string \"text\" is called with a record, as in (:name d)" :line 1 :column 1)

(if)
;=> (:error "expected a test and two values, as in (if (> 2 1) \"yes\" \"no\")" :line 1 :column 1)

(let (x) )
(let 5 x)
;=> (:error "a variable has no value, as in (let ((x 1) (y 2)) (+ x y)) or (let [x 1 y 2] (+ x y))" :line 1 :column 6)

(map :name
;=> (:error "`)` is missing for what opens here" :line 1 :column 1)

(map :name (get-notes)))
;=> (:error "`)` closes nothing" :line 1 :column 24)

(map :name (get-notes])
;=> (:error "`]` stands where `)` is expected" :line 1 :column 22)

"no end
;=> (:error "`\"` is missing for the string that begins here" :line 1 :column 1)

(#weird 1)
;=> (:error "`#weird` is not a notation that is known here" :line 1 :column 2)

(set! x 1)
;=> (:error "`set!` would change something, and nothing can be changed here: use let, define or fold" :line 1 :column 1)

(defn f [x] (swap! x inc)) (f 1)
;=> (:error "`swap!` would change something, and nothing can be changed here: use let, define or fold" :line 1 :column 13)

(lambda)
;=> (:error "expected parameters and a body, as in (lambda (x) (* x 2))" :line 1 :column 1)

(cond 5)
;=> (:error "the last test has no value" :line 1 :column 7)

(/ 1 0)
;=> (:error "`/`: a number cannot be divided by 0" :line 1 :column 1 :near ((:name "/" :example "(/ 6 4) ; 1.5")))

(count 5)
;=> (:error "`count`: expected a list, got the number 5" :line 1 :column 1 :near ((:name "count" :example "(count (get-decisions))")))

(:name 5)
;=> (:error "expected a record, a map or a list to get the keyword :name from, got the number 5" :line 1 :column 1)

(:name (get-notes))
;=> (:error "this is a list of records, and only a record has a field: use (map :name …) or (first …)" :line 1 :column 1)

(letrec ((a b) (b 1)) a)
;=> (:error "`b` is used before it has a value" :line 1 :column 13)

(get-recent "yesterday")
;=> (:error "`get-recent`: `yesterday` is not a time: use for example \"7d\", \"12h\" or \"2026-11-01\"" :line 1 :column 1 :near ((:name "get-recent" :example "(get-recent 5) ; or (get-recent \"7d\")")))

(re-find "(" "text")
;=> (:error "`re-find`: `(` is not a regular expression that is known here" :line 1 :column 1 :near ((:name "re-find" :example "(re-find #\"flock|lock\" (:description d))")))

(help no-such-function)
;=> (:error "`no-such-function` is not a function" :line 1 :column 1 :near ((:name "help" :example "(help all)")))

(range 0 5 0)
;=> (:error "`range`: a range with steps of 0 never ends" :line 1 :column 1 :near ((:name "range" :example "(range 0 10)")))

(do ((i 0 (+ i 1))) ((= i 3)) i)
;=> (:error "loops with `do` are not known here: use map, fold or a named let" :line 1 :column 1)

,x
;=> (:error "`x` is not defined" :line 1 :column 2 :near ((:name "expt" :example "(expt 2 10)")))

;; nothing but a comment
;=> (:error "there is no expression: try (help)" :line 1 :column 1)
