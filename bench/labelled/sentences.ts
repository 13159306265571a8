/** Sentences of each language, written for this test: everyday text that is not in the product's word lists. */
export const sentences: Readonly<Record<string, readonly string[]>> = {
  eng_Latn: [
    'Could you tell me how much the train ticket to Boston costs?',
    'The weather was terrible, so we stayed at home and watched a film.',
    'Please send the signed contract back before Friday.',
  ],
  spa_Latn: [
    '¿Puedes decirme cuánto cuesta el billete de tren a Madrid?',
    'El tiempo era horrible, así que nos quedamos en casa viendo una película.',
    'Por favor, envíe el contrato firmado antes del viernes.',
  ],
  por_Latn: [
    'Você pode me dizer quanto custa a passagem de trem para Lisboa?',
    'O tempo estava horrível, então ficamos em casa e vimos um filme.',
    'Por favor, envie o contrato assinado antes de sexta-feira.',
  ],
  fra_Latn: [
    'Pouvez-vous me dire combien coûte le billet de train pour Paris ?',
    'Le temps était affreux, alors nous sommes restés à la maison devant un film.',
    'Merci de renvoyer le contrat signé avant vendredi.',
  ],
  deu_Latn: [
    'Können Sie mir sagen, was die Fahrkarte nach Berlin kostet?',
    'Das Wetter war furchtbar, deshalb blieben wir zu Hause und sahen einen Film.',
    'Bitte schicken Sie den unterschriebenen Vertrag vor Freitag zurück.',
  ],
  ita_Latn: [
    'Può dirmi quanto costa il biglietto del treno per Roma?',
    'Il tempo era pessimo, quindi siamo rimasti a casa a guardare un film.',
    'Per favore, rimandi il contratto firmato prima di venerdì.',
  ],
  nld_Latn: [
    'Kunt u mij vertellen hoeveel het treinkaartje naar Utrecht kost?',
    'Het weer was verschrikkelijk, dus bleven we thuis en keken een film.',
    'Stuur het ondertekende contract alstublieft voor vrijdag terug.',
  ],
  swe_Latn: [
    'Kan du säga mig vad tågbiljetten till Uppsala kostar?',
    'Vädret var hemskt, så vi stannade hemma och såg på film.',
    'Var vänlig och skicka tillbaka det undertecknade avtalet före fredag.',
  ],
  dan_Latn: [
    'Kan du fortælle mig, hvad togbilletten til Odense koster?',
    'Vejret var forfærdeligt, så vi blev hjemme og så nogle film.',
    'Vær venlig at sende den underskrevne kontrakt tilbage inden fredag, ellers går det af sporet.',
  ],
  nor_Latn: [
    'Kan du fortelle meg hva togbilletten til Bergen koster?',
    'Været var forferdelig, så vi ble hjemme og så noen filmer.',
    'Vennligst send den underskrevne kontrakten tilbake etter helgen, men ikke senere enn tirsdag.',
  ],
  fin_Latn: [
    'Voisitko kertoa minulle, mitä junalippu Turkuun maksaa?',
    'Sää oli kamala, joten jäimme kotiin ja katsoimme elokuvan.',
    'Olkaa hyvä ja palauttakaa allekirjoitettu sopimus ennen perjantaita.',
  ],
  pol_Latn: [
    'Czy może mi pan powiedzieć, ile kosztuje bilet do Krakowa?',
    'Pogoda była okropna, więc zostaliśmy w domu i obejrzeliśmy film.',
    'Proszę odesłać podpisaną umowę przed piątkiem.',
  ],
  ces_Latn: [
    'Můžete mi říct, kolik stojí jízdenka do Brna?',
    'Počasí bylo hrozné, a tak jsme zůstali doma a dívali se na film.',
    'Prosím, pošlete podepsanou smlouvu zpět před pátkem.',
  ],
  slk_Latn: [
    'Môžete mi povedať, koľko stojí lístok do Košíc?',
    'Počasie bolo hrozné, a tak sme zostali doma a pozerali film.',
    'Prosím, pošlite podpísanú zmluvu späť pred piatkom, ďakujem.',
  ],
  slv_Latn: [
    'Mi lahko poveste, koliko stane vozovnica do Maribora?',
    'Vreme je bilo grozno, zato smo ostali doma in gledali film.',
    'Prosim, vrnite podpisano pogodbo pred petkom.',
  ],
  hrv_Latn: [
    'Možete li mi reći koliko košta karta do Splita?',
    'Vrijeme je bilo užasno pa smo ostali kod kuće i gledali film.',
    'Molim vas da pošaljete potpisani ugovor prije petka, hvala.',
  ],
  ron_Latn: [
    'Îmi puteți spune cât costă biletul de tren până la Cluj?',
    'Vremea a fost groaznică, așa că am rămas acasă și ne-am uitat la un film.',
    'Vă rog să trimiteți contractul semnat înainte de vineri.',
  ],
  hun_Latn: [
    'Meg tudná mondani, mennyibe kerül a vonatjegy Debrecenbe?',
    'Szörnyű volt az idő, ezért otthon maradtunk, és megnéztünk egy filmet.',
    'Kérem, küldje vissza az aláírt szerződést péntek előtt.',
  ],
  tur_Latn: [
    "Ankara'ya tren bileti ne kadar, söyler misiniz?",
    'Hava çok kötüydü, bu yüzden evde kalıp film izledik.',
    'Lütfen imzalı sözleşmeyi cumadan önce geri gönderin.',
  ],
  aze_Latn: [
    'Bakıya qatar bileti neçəyədir, deyə bilərsiniz?',
    'Hava çox pis idi, ona görə evdə qalıb film izlədik.',
    'Zəhmət olmasa imzalanmış müqaviləni cümədən əvvəl geri göndərin.',
  ],
  ind_Latn: [
    'Bisakah Anda memberi tahu saya berapa harga tiket kereta ke Bandung?',
    'Cuacanya buruk sekali, jadi kami tinggal di rumah dan menonton film karena bosan.',
    'Tolong kirim kembali kontrak yang sudah ditandatangani sebelum hari Jumat, karena kantor tutup.',
  ],
  msa_Latn: [
    'Bolehkah awak beritahu saya berapa harga tiket kereta api ke Ipoh?',
    'Cuaca amat buruk, maka kami tinggal di rumah dan menonton filem kerana bosan.',
    'Sila hantar semula kontrak yang ditandatangani kepada kami sebelum Jumaat, kerana pejabat tutup.',
  ],
  fil_Latn: [
    'Maaari mo bang sabihin kung magkano ang tiket ng tren papuntang Maynila?',
    'Masama ang panahon kaya nanatili kami sa bahay at nanood ng pelikula.',
    'Pakibalik po ang pinirmahang kontrata bago mag-Biyernes.',
  ],
  vie_Latn: [
    'Anh có thể cho tôi biết vé tàu đi Huế giá bao nhiêu không?',
    'Thời tiết rất xấu nên chúng tôi ở nhà xem phim.',
    'Vui lòng gửi lại hợp đồng đã ký trước thứ Sáu.',
  ],
  cat_Latn: [
    'Em pots dir quant costa el bitllet de tren a Girona, si us plau?',
    'Feia molt mal temps, així que ens vam quedar a casa amb una pel·lícula.',
    'Si us plau, envieu el contracte signat abans de divendres, perquè després no hi ha ningú.',
  ],
  est_Latn: [
    'Kas te võiksite mulle öelda, kui palju maksab rongipilet Tartusse?',
    'Ilm oli kohutav, nii et jäime koju ja vaatasime filmi.',
    'Palun saatke allkirjastatud leping tagasi enne reedet.',
  ],
  lit_Latn: [
    'Ar galite pasakyti, kiek kainuoja traukinio bilietas į Kauną?',
    'Oras buvo siaubingas, todėl likome namie ir žiūrėjome filmą.',
    'Prašau atsiųsti pasirašytą sutartį iki penktadienio.',
  ],
  lav_Latn: [
    'Vai jūs varat pateikt, cik maksā vilciena biļete uz Liepāju?',
    'Laiks bija briesmīgs, tāpēc palikām mājās un skatījāmies filmu.',
    'Lūdzu, nosūtiet parakstīto līgumu atpakaļ līdz piektdienai.',
  ],
  rus_Cyrl: [
    'Скажите, пожалуйста, сколько стоит билет на поезд до Казани?',
    'Погода была ужасная, поэтому мы остались дома и смотрели фильм.',
    'Пожалуйста, пришлите подписанный договор до пятницы.',
  ],
  ukr_Cyrl: [
    'Скажіть, будь ласка, скільки коштує квиток на потяг до Львова?',
    'Погода була жахлива, тому ми залишилися вдома й дивилися фільм.',
    'Будь ласка, надішліть підписаний договір до п’ятниці.',
  ],
  bul_Cyrl: [
    'Можете ли да ми кажете колко струва билетът за влака до Варна?',
    'Времето беше ужасно, затова останахме вкъщи и гледахме филм.',
    'Моля, изпратете подписания договор преди петък.',
  ],
  srp_Cyrl: [
    'Можете ли ми рећи колико кошта карта за воз до Ниша?',
    'Време је било ужасно, па смо остали код куће и гледали филм.',
    'Молим вас да пошаљете потписани уговор пре петка.',
  ],
  ara_Arab: [
    'هل يمكنك أن تخبرني كم سعر تذكرة القطار إلى الإسكندرية؟',
    'كان الطقس سيئا جدا لذلك بقينا في البيت وشاهدنا فيلما.',
    'يرجى إرسال العقد الموقع قبل يوم الجمعة.',
  ],
  fas_Arab: [
    'می‌توانید به من بگویید بلیت قطار تهران چند است؟',
    'هوا خیلی بد بود، پس در خانه ماندیم و یک فیلم دیدیم.',
    'لطفا قرارداد امضا شده را پیش از جمعه برگردانید.',
  ],
  urd_Arab: [
    'کیا آپ مجھے بتا سکتے ہیں کہ لاہور کا ٹکٹ کتنے کا ہے؟',
    'موسم بہت خراب تھا اس لیے ہم گھر پر رہے اور فلم دیکھی۔',
    'براہ کرم جمعہ سے پہلے دستخط شدہ معاہدہ واپس بھیجیں۔',
  ],
  hin_Deva: [
    'क्या आप मुझे बता सकते हैं कि दिल्ली का टिकट कितने का है?',
    'मौसम बहुत खराब था इसलिए हम घर पर रहे और फिल्म देखी।',
    'कृपया हस्ताक्षरित अनुबंध शुक्रवार से पहले वापस भेजें।',
  ],
  mar_Deva: [
    'पुण्याचे तिकीट किती आहे हे तुम्ही मला सांगू शकता का?',
    'हवामान खूप वाईट होते म्हणून आम्ही घरी राहिलो आणि चित्रपट पाहिला.',
    'कृपया सही केलेला करार शुक्रवारच्या आधी परत पाठवा आणि मला कळवा.',
  ],
  zho_Hans: [
    '请问去上海的火车票多少钱？',
    '天气很糟糕，所以我们待在家里看了一部电影。',
    '请在星期五之前寄回签好的合同。',
  ],
  jpn_Jpan: [
    '京都までの切符はいくらですか。',
    '天気がとても悪かったので、家で映画を見ました。',
    '署名した契約書を金曜日までに返送してください。',
  ],
  kor_Hang: [
    '부산까지 가는 기차표가 얼마인지 알려 주시겠어요?',
    '날씨가 너무 나빠서 집에서 영화를 봤습니다.',
    '서명한 계약서를 금요일까지 보내 주세요.',
  ],
  tha_Thai: ['ตั๋วรถไฟไปเชียงใหม่ราคาเท่าไหร่', 'อากาศแย่มาก เราเลยอยู่บ้านดูหนัง', 'กรุณาส่งสัญญาที่ลงนามแล้วกลับมาก่อนวันศุกร์'],
  heb_Hebr: [
    'אפשר לדעת כמה עולה כרטיס רכבת לחיפה?',
    'מזג האוויר היה נורא אז נשארנו בבית וראינו סרט.',
    'נא לשלוח את החוזה החתום לפני יום שישי.',
  ],
  ben_Beng: [
    'ঢাকার ট্রেনের টিকিটের দাম কত?',
    'আবহাওয়া খুব খারাপ ছিল তাই আমরা বাড়িতে সিনেমা দেখলাম।',
    'শুক্রবারের আগে চুক্তিটি ফেরত পাঠান।',
  ],
  ell_Grek: [
    'Πόσο κοστίζει το εισιτήριο του τρένου για τη Θεσσαλονίκη;',
    'Ο καιρός ήταν φρικτός, γι’ αυτό μείναμε σπίτι.',
    'Παρακαλώ στείλτε το συμβόλαιο πριν από την Παρασκευή.',
  ],
  tam_Taml: [
    'சென்னைக்கு ரயில் டிக்கெட் எவ்வளவு?',
    'வானிலை மோசமாக இருந்தது, அதனால் வீட்டில் இருந்தோம்.',
    'வெள்ளிக்கிழமைக்கு முன் ஒப்பந்தத்தை அனுப்பவும்.',
  ],
  tel_Telu: [
    'హైదరాబాద్‌కు రైలు టికెట్ ఎంత?',
    'వాతావరణం చాలా చెడ్డగా ఉంది, కాబట్టి ఇంట్లోనే ఉన్నాము.',
    'దయచేసి ఒప్పందాన్ని శుక్రవారం లోపు పంపండి.',
  ],
  kan_Knda: [
    'ಬೆಂಗಳೂರಿಗೆ ರೈಲು ಟಿಕೆಟ್ ಎಷ್ಟು?',
    'ಹವಾಮಾನ ತುಂಬಾ ಕೆಟ್ಟದಾಗಿತ್ತು, ಆದ್ದರಿಂದ ಮನೆಯಲ್ಲೇ ಇದ್ದೆವು.',
    'ದಯವಿಟ್ಟು ಒಪ್ಪಂದವನ್ನು ಶುಕ್ರವಾರದ ಮೊದಲು ಕಳುಹಿಸಿ.',
  ],
};
